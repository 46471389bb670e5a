"""Bells and the work that they lead to, in one process: what each costs, by counts."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from celery import Celery
from kombu import Queue
from sqlalchemy import Engine, event, text

from models import database as session
from models.due_work.fair_claim import Turns
from models.due_work.kinds import WorkQueue
from models.due_work.queue import WorkKind, enqueue_many
from models.scope import Scope
from tests.integration.works import what_is_due
from workers import tasks
from workers.dispatch import Bells
from workers.drain import SETTLED_S, Ear
from workers.settings import WorkerSettings

STALE = 5_000
BACKLOG = 300
SETTINGS = WorkerSettings(drain_pieces=100, drain_s=3_600)


@pytest.fixture(autouse=True)
def broker(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    """A process of a worker that has just begun, and serves every queue."""
    with Celery("test", broker=valkey_url, set_as_current=False) as plain:
        plain.conf.update(task_queues=[Queue(name) for name in WorkQueue], result_backend=None)
        with plain.connection_for_write() as connection:
            for queue in WorkQueue:
                Queue(queue, channel=connection.default_channel).purge()
        for name, value in (("app", plain), ("_ear", Ear()), ("_turns", Turns())):
            monkeypatch.setattr(tasks, name, value)
        monkeypatch.setattr(tasks, "worker_settings", lambda: SETTINGS)
        yield plain


class Counts:
    """Transactions of this process."""

    def __init__(self) -> None:
        self.begun = 0

    def note(self, _connection: Any) -> None:
        self.begun += 1


@pytest.fixture
def counts(engine: Engine) -> Iterator[Counts]:
    counts = Counts()
    event.listen(engine, "begin", counts.note)
    yield counts
    event.remove(engine, "begin", counts.note)


def now() -> datetime:
    with session.read_transaction() as db:
        at: datetime = db.execute(text("select now()")).scalar_one()
    return at


@pytest.fixture
def backlog(tenant_id: UUID) -> UUID:
    """Sessions without turns, to be indexed: work that takes no time."""
    with session.transaction() as db:
        enqueue_many(Scope(db, tenant_id), WorkKind.RECALL, [f"s{number}" for number in range(BACKLOG)])
    return tenant_id


def left() -> int:
    with session.read_transaction() as db:
        return sum(what_is_due(db, most=BACKLOG).pieces.values())


def test_stale_bells_hold_up_no_work_and_cost_no_transaction(backlog: UUID, counts: Counts) -> None:
    """Three bells lead to all of three hundred pieces; the others are passed over as fast as they are heard.

    Each look in vain stands for a second. What a busy machine makes of five thousand of them is its own.
    """
    before = now()
    outcomes = [tasks.hear("maintenance", before) for _ in range(4)]
    assert outcomes == ["100 done", "100 done", "100 done", "0 done"]
    assert left() == 0
    began, before_stale = time.monotonic(), counts.begun
    outcomes = [tasks.hear("maintenance", before if number % 2 else None) for number in range(STALE)]
    seconds = time.monotonic() - began
    assert set(outcomes) <= {"nothing new", "0 done"}
    assert counts.begun - before_stale == outcomes.count("0 done")
    assert outcomes.count("0 done") <= seconds / SETTLED_S + 1
    with session.read_transaction() as db:
        done = db.execute(
            text("select count(*) from due_work where tenant_id = :t and state = 'idle'"), {"t": backlog}
        )
        assert done.scalar_one() == BACKLOG


def test_a_bell_after_a_look_in_vain_is_heard_at_once(tenant_id: UUID) -> None:
    """Somebody waits for it: that this process has just looked must not hold it up."""
    assert tasks.hear("maintenance", None) == "0 done"
    with session.transaction() as db:
        enqueue_many(Scope(db, tenant_id), WorkKind.RECALL, ["s1"], awaited=True)
    assert tasks.hear("maintenance", now()) == "1 done"


@pytest.mark.usefixtures("backlog")
def test_a_drain_that_ends_early_rings_again(broker: Celery) -> None:
    bells = Bells(broker)
    assert tasks.hear("maintenance", None) == "100 done"
    assert bells.waiting("maintenance") == 1
    for outcome in ("100 done", "100 done", "0 done"):
        bells.clear("maintenance")
        assert tasks.hear("maintenance", now()) == outcome
    assert bells.waiting("maintenance") == 0


@pytest.mark.usefixtures("backlog")
def test_a_worker_that_was_asked_to_stop_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "asked_to_stop", lambda: True)
    assert tasks.hear("maintenance", None) == "0 done"
    assert left() == BACKLOG


@pytest.mark.usefixtures("backlog")
def test_a_database_that_is_away_ends_a_drain_and_not_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr(tasks, "claim_next", away)
        assert tasks.hear("maintenance", None) == "ended early"
    assert tasks.hear("maintenance", None) == "100 done"
