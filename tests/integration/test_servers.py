"""The embedded servers keep what they promise."""

import gc
import os
import re
import warnings
from pathlib import Path

import pytest
import redis
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from afterturn.stack.roles import Addresses
from afterturn.stack.servers import OTHER_PROGRAMS
from models import database as session


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("listen_addresses", "127.0.0.1"),
        ("log_error_verbosity", "terse"),
    ],
)
def test_postgres_commits_durably_listens_on_loopback_only_and_logs_no_rows(
    db: Connection, setting: str, value: str
) -> None:
    assert db.execute(text(f"show {setting}")).scalar() == value


@pytest.mark.skipif(OTHER_PROGRAMS in os.environ, reason="another version was asked for")
def test_postgres_is_version_18(db: Connection) -> None:
    assert str(db.execute(text("show server_version")).scalar()).startswith("18")


def test_postgres_refuses_a_wrong_password(postgres_url: str) -> None:
    wrong = create_engine(re.sub(r":[^:@/]+@", ":wrong@", postgres_url))
    with pytest.raises(OperationalError, match="password authentication failed"):
        wrong.connect()
    wrong.dispose()


def test_case_folding_knows_all_of_unicode(db: Connection) -> None:
    assert db.execute(text("select lower('ÅÉЖ')")).scalar() == "åéж"


def test_valkey_refuses_callers_without_the_password(valkey_url: str) -> None:
    without = re.sub(r"://[^@]*@", "://", valkey_url)
    with redis.Redis.from_url(without) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_valkey_never_evicts(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url, decode_responses=True) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_an_emptied_database_keeps_its_migrations(empty_db: Engine) -> None:
    with empty_db.connect() as connection:
        assert connection.execute(text("select count(*) from tenant")).scalar() == 0
        assert connection.execute(text("select count(*) from alembic_version")).scalar() == 1


@pytest.mark.parametrize("name", ["api-key", "stack.json", "valkey.conf", "lock"])
def test_files_with_secrets_are_private(servers: Addresses, name: str) -> None:
    assert (Path(servers.directory) / name).stat().st_mode & 0o077 == 0


def test_no_way_to_connect_drops_a_connection_that_is_open(engine: Engine) -> None:  # noqa: ARG001 (its settings)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        for timeout_ms in range(1_000, 1_008):
            with session.brief_read_transaction(timeout_ms) as db:
                db.execute(text("select 1"))
        gc.collect()
    assert [str(warning.message) for warning in told if "psycopg" in str(warning.message)] == []
