"""A real PostgreSQL and Valkey for each test process, built by the migrations."""

from collections.abc import Iterator
from dataclasses import asdict
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, text

from afterturn.stack.roles import SERVERS, Addresses
from afterturn.stack.stack import Stack
from api.app import make_app
from api.context import artifact_summaries as in_force
from api.settings import api_settings
from llm.scripted import Mode, ScriptedServer, Step
from models import database as session
from models.conversations.settings import compression_settings, served_window_settings
from models.database_settings import database_settings
from models.encryption.keys import forget_keys
from models.recall.settings import recall_settings
from models.scope import Scope
from models.tenants import row_security
from models.tenants.tenant import SCOPES, create_key, ensure_tenant
from tests.integration.sealing import FIRST, Environment
from tests.integration.summarizing import THRESHOLDS


@pytest.fixture(scope="session")
def servers() -> Iterator[Addresses]:
    """The servers' addresses; they end with this test process, however it ends."""
    with Stack(roles=SERVERS) as stack:
        yield stack.at


@pytest.fixture(scope="session")
def postgres_url(servers: Addresses) -> str:
    """A migrated database."""
    return servers.database_url


@pytest.fixture(scope="session")
def valkey_url(servers: Addresses) -> str:
    """A broker of our own."""
    return servers.broker_url


@pytest.fixture(scope="session")
def engine(servers: Addresses) -> Iterator[Engine]:
    """The very pool that the code under test uses, on this process's database."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AFTERTURN_DATABASE_URL", servers.database_url)
        environment.setenv("AFTERTURN_BROKER_URL", servers.broker_url)
        environment.setenv("AFTERTURN_CATALOGS_PREPARED", "0")  # the tests before left many
        # A test that holds a row waits meanwhile for other processes, which a busy machine starts slowly.
        environment.setenv("AFTERTURN_IDLE_IN_TRANSACTION_TIMEOUT_MS", "300000")
        database_settings.cache_clear()
        pool = session.engine()
        _keep_still(pool)
        yield pool
        pool.dispose()
    database_settings.cache_clear()


def _keep_still(pool: Engine) -> None:
    """Let the server count no table by itself: what it thinks of them would change from test to test."""
    with pool.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("alter system set autovacuum = off"))
        connection.execute(text("select pg_reload_conf()"))


@pytest.fixture(autouse=True)
def _of_no_tenant() -> None:
    """Code that a test calls in its own thread may have held it to a tenant; a request's thread forgets."""
    row_security._tenant.set(None)


@pytest.fixture(autouse=True)
def _patient_recall(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On a busy machine a search may take longer than a read waits for it."""
    monkeypatch.setenv("AFTERTURN_RECALL_TIMEOUT_MS", "5000")
    recall_settings.cache_clear()
    yield
    recall_settings.cache_clear()


@pytest.fixture
def long_wait_ms(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """How long a call may be told to wait: so long that a busy machine's slowness is no wait."""
    monkeypatch.setenv("AFTERTURN_MAX_WAIT_MS", "120000")
    api_settings.cache_clear()
    yield 120_000
    api_settings.cache_clear()


@pytest.fixture
def db(engine: Engine) -> Iterator[Connection]:
    """A transaction that is rolled back at the end: whatever a test writes vanishes."""
    with engine.connect() as connection:
        outer = connection.begin()
        yield connection
        outer.rollback()


@pytest.fixture
def empty_db(engine: Engine) -> Iterator[Engine]:
    """A database for tests that commit: every table is empty before and after."""
    empty_everything(engine)
    yield engine
    empty_everything(engine)


_TABLES = text(
    """
    select format('%I.%I', schemaname, tablename) from pg_tables
    where schemaname = 'public' and tablename not in ('alembic_version', 'model_profile', 'model_price')
    """
)
_COUNTED = text(
    """
    select oid::regclass from pg_class where relnamespace = 'public'::regnamespace
    and relkind in ('r', 'p') and reltuples >= 0
    and relname not in ('alembic_version', 'model_profile', 'model_price')
    """
)
"""What a test had analyzed; to truncate it makes the server forget how much it held."""
_SEQUENCES = text(
    """
    select setval(format('%I.%I', schemaname, sequencename), start_value, false) from pg_sequences
    where schemaname = 'public' and last_value is not null
    """
)


def empty_everything(engine: Engine) -> None:
    """Empty every table but the record of migrations and what they say of models.

    Only what holds rows is touched: to truncate all tables takes longer than most tests.
    """
    with engine.begin() as connection:
        if counted := connection.execute(_COUNTED).scalars().all():
            connection.execute(text(f"truncate {', '.join(counted)} cascade"))
        tables = connection.execute(_TABLES).scalars().all()
        looks = " union all ".join(f"select '{name}' where exists (select from {name})" for name in tables)  # noqa: S608
        connection.execute(text("set local session_replication_role = replica"))
        for name in connection.execute(text(looks)).scalars().all():
            connection.execute(text(f"delete from {name}"))  # noqa: S608 (names of our own)
        connection.execute(_SEQUENCES)


@pytest.fixture
def tenant_id(empty_db: Engine) -> UUID:  # noqa: ARG001 (its tables must be empty)
    """A tenant of the test's own."""
    with session.transaction() as connection:
        return ensure_tenant(connection, "first")


@pytest.fixture
def client(tenant_id: UUID) -> Iterator[TestClient]:
    """The real application, called with a key that may do everything."""
    in_force.forget()
    with TestClient(make_app(), raise_server_exceptions=False) as plain:
        plain.headers["Authorization"] = f"Bearer {make_key(tenant_id)}"
        yield plain


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    """A scripted model that writes summaries unless a test queues other steps."""
    with ScriptedServer(default=Step(Mode.SUMMARY)) as scripted:
        yield scripted


@pytest.fixture
def keys() -> Iterator[Environment]:
    """A process that seals new text with a key of the test's own."""
    with pytest.MonkeyPatch.context() as patch:
        environment = Environment(patch)
        environment.use(FIRST)
        yield environment
    forget_keys()


@pytest.fixture
def keep_windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep every window as it was served."""
    monkeypatch.setenv("AFTERTURN_SERVED_WINDOW_SHARE", "1")
    served_window_settings.cache_clear()
    yield
    monkeypatch.undo()
    served_window_settings.cache_clear()


def make_key(tenant: UUID, *scopes: str) -> str:
    """Another key of a tenant; one that may do everything where no scope is named."""
    with session.transaction() as connection:
        return create_key(Scope(connection, tenant), label="test", scopes=scopes or SCOPES)


@pytest.fixture
def no_prompt_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """gpt-4o without a cache: no result stands in place, and what arrives in a turn is shown."""
    monkeypatch.setenv("AFTERTURN_PROMPT_CACHE_TTL_S", '{"gpt-4o": 0}')
    compression_settings.cache_clear()
    yield
    monkeypatch.undo()
    compression_settings.cache_clear()


@pytest.fixture
def early_summaries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """More than six raw messages call for a summary, however little of the window they take."""
    for name, value in asdict(THRESHOLDS).items():
        monkeypatch.setenv(f"AFTERTURN_SUMMARIZE_{name.upper()}", str(value))
    compression_settings.cache_clear()
    yield
    monkeypatch.undo()
    compression_settings.cache_clear()
