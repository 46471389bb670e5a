"""Behind PgBouncer in transaction mode, limits, durability, wake-ups and statements are as without it."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from pydantic import ValidationError
from sqlalchemy import Connection, Engine, select, text

from afterturn.doctor import check_database
from afterturn.stack.roles import Addresses
from benchmarks.pooler import pooler
from models import database as session
from models.database_settings import DatabaseSettings, database_settings
from models.due_work.queue import DueWork, WorkKind, enqueue
from models.scope import Scope
from tests.integration.test_dispatch import woken_after
from workers.dispatch import Waker

needs_pooler = pytest.mark.skipif(
    shutil.which("pgbouncer", path="/usr/sbin:/usr/bin") is None, reason="no program `pgbouncer`"
)
CONNECTIONS = 2
CALLERS = 12


@pytest.fixture(scope="module")
def pooled_url(servers: Addresses) -> Iterator[str]:
    """The address of the test's database through PgBouncer, which has fewer connections than callers."""
    place = Path(servers.directory) / "pooler"
    with pooler(servers.database_url, place, connections=CONNECTIONS) as (url, _):
        yield url


@pytest.fixture
def pooled(
    empty_db: Engine,  # noqa: ARG001 (its settings, and what the tests commit)
    pooled_url: str,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[DatabaseSettings]:
    """Let this process reach its database through PgBouncer."""
    with monkeypatch.context() as environment:
        environment.setenv("AFTERTURN_DATABASE_URL", pooled_url)
        environment.setenv("AFTERTURN_DIRECT_DATABASE_URL", postgres_url)
        environment.setenv("AFTERTURN_TRANSACTION_POOLER", "true")
        database_settings.cache_clear()
        yield database_settings()
        session.engine().dispose()
    database_settings.cache_clear()


def shown(db: Connection, name: str) -> str:
    return str(db.execute(text("select current_setting(:name)"), {"name": name}).scalar_one())


@needs_pooler
@pytest.mark.usefixtures("pooled")
def test_statements_of_many_callers_share_few_connections(tenant_id: UUID) -> None:
    def call(number: int) -> int:
        found = 0
        for _ in range(8):  # so often that a driver by itself would prepare the statement
            with session.transaction() as db:
                enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, f"s{number}")
            with session.read_transaction() as db:
                found = len(db.execute(select(DueWork.key).where(DueWork.tenant_id == tenant_id)).all())
        return found

    with ThreadPoolExecutor(CALLERS) as threads:
        assert max(threads.map(call, range(CALLERS))) == CALLERS


@needs_pooler
@pytest.mark.usefixtures("pooled")
def test_a_transaction_brings_its_own_limits_and_its_durability() -> None:
    with session.transaction() as db:
        assert shown(db, "statement_timeout") == "15s"
        assert shown(db, "lock_timeout") == "5s"
        assert shown(db, "synchronous_commit") == "on"
        assert shown(db, "timezone") == "UTC"
    with session.brief_read_transaction(700) as db:
        assert shown(db, "statement_timeout") == "700ms"
        assert shown(db, "enable_seqscan") == "off"


@needs_pooler
@pytest.mark.usefixtures("pooled")
def test_a_limit_of_one_transaction_does_not_reach_the_next_caller() -> None:
    with session.brief_read_transaction(700) as db:
        assert shown(db, "statement_timeout") == "700ms"
    for _ in range(2 * CONNECTIONS):
        with session.read_transaction() as db:
            assert shown(db, "statement_timeout") != "700ms"


@needs_pooler
def test_awaited_work_wakes_a_dispatcher_past_the_pooler(pooled: DatabaseSettings, tenant_id: UUID) -> None:
    def ask() -> None:
        with session.transaction() as db:
            enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, "s1", delay_s=60, awaited=True)

    waker = Waker(pooled.listening_url)
    assert woken_after(waker, ask, timeout_s=60) < 40
    waker.close()


@needs_pooler
def test_the_doctor_says_which_limits_the_login_role_lacks(
    pooled: DatabaseSettings, servers: Addresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = check_database()
    assert not found.is_well
    assert "alter role" in found.seen
    with psycopg.connect(pooled.listening_url, autocommit=True) as direct:
        direct.execute(found.seen[found.seen.index("alter role") :].encode())
        try:
            place = Path(servers.directory) / "other"
            with (
                pooler(pooled.listening_url, place, connections=1) as (url, _),
                monkeypatch.context() as other,
            ):
                other.setenv("AFTERTURN_DATABASE_URL", url)
                database_settings.cache_clear()
                assert check_database().is_well
        finally:
            direct.execute("alter role current_user reset all")


def test_row_security_refuses_a_pooler_by_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_ROW_SECURITY", "true")
    monkeypatch.setenv("AFTERTURN_TRANSACTION_POOLER", "true")
    with pytest.raises(ValidationError, match="pool by session"):
        DatabaseSettings()


def test_a_password_of_its_own_setting_reaches_both_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_DATABASE_PASSWORD", "open")
    monkeypatch.setenv("AFTERTURN_DATABASE_URL", "postgresql://afterturn@pooler/afterturn")
    monkeypatch.setenv("AFTERTURN_DIRECT_DATABASE_URL", "postgresql://afterturn@server/afterturn")
    assert DatabaseSettings().listening_url == "postgresql://afterturn:open@server/afterturn"
