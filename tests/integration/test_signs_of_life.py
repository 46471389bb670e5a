"""What operators can ask: is it ready, and when was each role last at work."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from celery.signals import after_task_publish, beat_init
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from models import database as session
from models.base_settings import RELEASE
from models.due_work.heartbeat import beat, last_signs
from workers import app as worker_app
from workers.dispatch import run
from workers.settings import TaskName, worker_settings
from workers.telemetry import PoolSign, show_loop


@pytest.fixture
def started_beat(empty_db: Engine) -> Iterator[None]:
    """What happens in a beat process at its start."""
    del empty_db
    beat_init.send(sender=None)
    yield
    after_task_publish.disconnect(worker_app._beat_still_lives)


@pytest.mark.usefixtures("started_beat")
def test_beat_is_seen_again_with_every_tick_that_leaves_it() -> None:
    with session.transaction() as db:
        assert "beat" in last_signs(db)
        db.execute(text("delete from heartbeat"))
    after_task_publish.send(sender=TaskName.TICK)
    with session.read_transaction() as db:
        assert "beat" in last_signs(db)


def test_readiness_names_the_migration_the_roles_and_the_models(client: TestClient) -> None:
    with session.transaction() as db:
        told = {"summarizer": "extractive", "planner": "extractive", "caps": {}}
        beat(db, "worker", "here:1", told)
    answer = client.get("/readyz")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["status"] == "ready"
    assert told["checks"]["migration"].isdigit()
    assert list(told["last_seen"]) == ["worker"]
    assert told["models"] == {"summarizer": "extractive", "planner": "extractive"}


@pytest.mark.parametrize(("version", "status"), [("0048", 503), ("9999", 200)], ids=["before", "after"])
def test_a_database_before_this_release_serves_nothing_and_one_after_it_does(
    client: TestClient, version: str, status: int
) -> None:
    with session.transaction() as db:
        found = db.execute(text("update alembic_version set version_num = version_num returning *")).scalar()
        db.execute(text("update alembic_version set version_num = :version"), {"version": version})
    try:
        answer = client.get("/readyz")
    finally:
        with session.transaction() as db:
            db.execute(text("update alembic_version set version_num = :found"), {"found": found})
    assert answer.status_code == status
    assert answer.json()["checks"]["migration"].startswith(f"at {version}, " if status == 503 else version)


def test_liveness_needs_no_key_and_no_database(client: TestClient) -> None:
    assert client.get("/healthz", headers={"Authorization": ""}).json() == {
        "status": "ok",
        "release": RELEASE,
    }


@pytest.fixture
def alive_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that the loops of this process renew."""
    monkeypatch.setenv("AFTERTURN_ALIVE_FILE", str(tmp_path / "alive"))
    worker_settings.cache_clear()
    yield tmp_path / "alive"
    worker_settings.cache_clear()


@pytest.fixture
def database_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction fails as without a server."""
    away = OperationalError("select 1", {}, psycopg.OperationalError("connection refused"))
    monkeypatch.setattr("workers.telemetry.transaction", raising(away))
    monkeypatch.setattr("workers.dispatch.TROUBLE_PAUSE_S", 0)


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.usefixtures("database_away")
def test_the_loop_of_a_pool_renews_the_file_without_a_database(alive_file: Path) -> None:
    PoolSign(worker_settings()).show()
    assert alive_file.exists()


@pytest.mark.usefixtures("database_away")
def test_the_loop_of_the_dispatcher_renews_the_file_without_a_database(alive_file: Path) -> None:
    turns = iter([False, True])
    run(lambda: next(turns), worker_settings())
    assert alive_file.exists()


def test_a_tick_of_beat_renews_the_file(alive_file: Path, started_beat: None) -> None:
    del started_beat
    alive_file.unlink()
    after_task_publish.send(sender=TaskName.TICK)
    assert alive_file.exists()


def test_a_file_that_cannot_be_written_stops_nothing(alive_file: Path) -> None:
    alive_file.parent.rmdir()
    show_loop()
    assert not alive_file.exists()


def test_no_file_is_written_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    show_loop()
    assert not list(tmp_path.iterdir())
