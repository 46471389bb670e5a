"""How commands of an operator meet a database: one that does not answer, is busy, or keeps another time."""

import socket
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import typer
from sqlalchemy import text

from afterturn.operating import ADVICE, operator_transaction
from models.database_settings import database_settings

NOWHERE = Path("/nonexistent")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The environment of a command, which is read anew."""
    yield monkeypatch
    monkeypatch.undo()
    database_settings.cache_clear()


def test_a_database_that_says_nothing_is_given_up(
    elsewhere: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A firewall that drops packets, or a server that stands still: it would be waited for without end."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        elsewhere.setenv(
            "AFTERTURN_DATABASE_URL", f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/nothing"
        )
        database_settings.cache_clear()
        with pytest.raises(typer.Exit), operator_transaction(NOWHERE):
            pass
    assert ADVICE in capsys.readouterr().err


def test_a_row_that_somebody_holds_is_not_a_missing_database(
    postgres_url: str, elsewhere: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere.setenv("AFTERTURN_DATABASE_URL", postgres_url)
    elsewhere.setenv("AFTERTURN_LOCK_TIMEOUT_MS", "50")
    database_settings.cache_clear()
    with psycopg.connect(postgres_url) as holder:
        holder.execute("lock table due_work in access exclusive mode")
        with pytest.raises(typer.Exit), operator_transaction(NOWHERE) as db:
            db.execute(text("select 1 from due_work"))
    said = capsys.readouterr().err
    assert "lock timeout" in said
    assert ADVICE not in said


def test_times_are_told_in_utc_whatever_the_server_keeps(
    postgres_url: str, elsewhere: pytest.MonkeyPatch
) -> None:
    elsewhere.setenv("AFTERTURN_DATABASE_URL", postgres_url)
    elsewhere.setenv("AFTERTURN_STATEMENT_TIMEOUT_MS", "100")
    database_settings.cache_clear()
    with psycopg.connect(postgres_url, autocommit=True) as server:
        name = server.info.dbname
        server.execute(f"alter database \"{name}\" set timezone to 'Asia/Tokyo'".encode())
        try:
            with operator_transaction(NOWHERE) as db:
                assert db.execute(text("show timezone")).scalar_one() == "UTC"
                assert db.execute(text("show synchronous_commit")).scalar_one() == "on"
                assert db.execute(text("select 1 from pg_sleep(0.2)")).scalar_one() == 1
        finally:
            server.execute(f'alter database "{name}" reset timezone'.encode())
