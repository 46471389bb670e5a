"""What operators can ask: is it ready, and when was each role last at work."""

from collections.abc import Iterator

import pytest
from celery.signals import after_task_publish, beat_init
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from models import database as session
from models.due_work.heartbeat import beat, last_signs
from workers import app as worker_app
from workers.tick import TaskName


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


def test_liveness_needs_no_key_and_no_database(client: TestClient) -> None:
    assert client.get("/healthz", headers={"Authorization": ""}).json() == {"status": "ok"}
