"""The broker holds thousands of messages that mean nothing any more: work is done all the same, and shown."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery

from afterturn.stack.roles import StackRole, worker_command
from models.due_work.kinds import WorkQueue
from tests.acceptance.faults.processes import nobody_listens, process
from tests.acceptance.platform import SOON_S, Platform, children_of
from tests.waiting import wait_until
from workers.drain import PIECES_OF_A_PROCESS
from workers.settings import worker_settings

BACKLOG, STALE = 300, 5_000
PROCESSES = 2
"""Of the worker's pool."""

FILL = """
insert into due_work (tenant_id, kind, key, state, due_at)
select tenant_id, 'recall', %s || '-' || n, 'ready', now() from tenant, generate_series(1, %s) as n
where name = 'default' returning work_id
"""
ENDS = """
select state, count(*), sum(crashes), sum(claimed) from due_work where key like %s || '-%%' group by state
"""


def fill(platform: Platform, name: str, pieces: int) -> None:
    """Make work due that takes no time: sessions without turns, to be indexed."""
    assert len(platform.rows(FILL, name, pieces)) == pieces


def is_done(platform: Platform, name: str, pieces: int) -> None:
    """Wait until each piece was done: once, and by nobody who died of it."""
    done = [("idle", pieces, 0, pieces)]
    wait_until(
        lambda: platform.rows(ENDS, name) == done,
        within_s=SOON_S,
        what=lambda: f"{name} is done: {platform.rows(ENDS, name)}",
    )


def leave_stale(platform: Platform, celery: Celery, number: int) -> None:
    """Leave messages of older code in the queue, as a backlog of its hints would."""
    celery.send_task("maintenance.index_recall", args=[1], queue="maintenance", ignore_result=True)
    with platform.broker() as broker:
        [*_, message] = broker.lrange("maintenance", 0, -1)
        with broker.pipeline() as pipe:
            for _ in range(number):
                pipe.rpush("maintenance", message)
            pipe.execute()


@pytest.fixture
def celery(platform: Platform) -> Iterator[Celery]:
    with Celery("test", broker=platform.broker_url, set_as_current=False) as plain:
        yield plain


@pytest.mark.parametrize("dispatcher", ["at work", "stopped"])
def test_a_backlog_behind_thousands_of_stale_hints_is_done(
    platform: Platform, celery: Celery, dispatcher: str
) -> None:
    """The queue is emptied where a dispatcher is at work; else each stale one is a bell, or passed over.

    Red without "bells: one is enough for all that is due", where the dispatcher stands still: a second passes
    between two looks, and there are more pieces than seconds to wait for them.
    """
    name = f"stale-{dispatcher.replace(' ', '-')}"
    with platform.paused(StackRole.DISPATCHER):
        with nobody_listens(platform):
            fill(platform, name, BACKLOG)
            leave_stale(platform, celery, STALE)
        if dispatcher == "stopped":
            is_done(platform, name, BACKLOG)
    is_done(platform, name, BACKLOG)
    few = worker_settings().bells_ahead + PROCESSES
    with platform.broker() as broker:
        wait_until(
            lambda: all(broker.llen(queue) <= few for queue in WorkQueue),
            within_s=SOON_S,
            what=lambda: f"few bells wait: {[broker.llen(queue) for queue in WorkQueue]}",
        )


@pytest.mark.soak
def test_a_worker_asked_to_stop_in_a_backlog_ends_between_two_pieces(
    platform: Platform, tmp_path: Path
) -> None:
    """What it has begun is ended, the rest is another's; no piece counts a crash.

    Red without "worker: a drain ends when it is asked to": a drain of no other end does all of the backlog.
    """
    endless = {"AFTERTURN_DRAIN_S": "1000", "AFTERTURN_DRAIN_PIECES": str(10 * BACKLOG)}
    settings = {**platform.environment_of(StackRole.WORKER), **endless}
    with platform.paused(StackRole.WORKER):
        with platform.paused(StackRole.DISPATCHER):
            fill(platform, "asked", BACKLOG)
        with process(worker_command(concurrency=1, name="asked"), settings, tmp_path / "worker"):
            begun = "select 1 from due_work where key like 'asked-%%' and state = 'idle'"
            wait_until(lambda: platform.rows(begun), within_s=SOON_S, what="the first is done")
        assert platform.rows("select 1 from due_work where key like 'asked-%%' and state = 'ready'")
    is_done(platform, "asked", BACKLOG)


@contextmanager
def watched(celery: Celery) -> Iterator[list[dict[str, Any]]]:
    """Hear what Flower hears meanwhile."""
    heard, stop, ready = list[dict[str, Any]](), threading.Event(), threading.Event()

    def listen() -> None:
        receiver = celery.events.Receiver(celery.connection_for_read(), handlers={"*": heard.append})
        with receiver.consumer_context() as (connection, _channel, _consumers):
            ready.set()
            while not stop.is_set():
                with suppress(TimeoutError):
                    connection.drain_events(timeout=0.2)

    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(SOON_S)
    try:
        yield heard
    finally:
        stop.set()
        thread.join()


def test_flower_is_told_of_each_piece_of_work_and_of_no_bell(platform: Platform, celery: Celery) -> None:
    """Red without "events: each piece is told of"."""
    session_id = f"shown-{uuid4().hex[:8]}"
    with watched(celery) as heard:
        platform.talk(session_id)
        platform.is_summarized(session_id)
        args = f"({platform.work_id(session_id)},)"

        def told() -> list[dict[str, Any]]:
            ids = {event["uuid"] for event in heard if event.get("args") == args}
            return [event for event in heard if event.get("uuid") in ids]

        wait_until(lambda: told() and told()[-1]["type"] == "task-succeeded", within_s=SOON_S, what="its end")
    assert [event["type"] for event in told()][-3:] == ["task-received", "task-started", "task-succeeded"]
    assert {event.get("name") for event in told()} == {"summaries.summarize", None}
    assert all(event["hostname"].startswith("worker@") for event in told())
    assert "bell" not in {event.get("name") for event in heard}


@pytest.mark.soak
def test_a_process_of_the_pool_makes_room_after_many_pieces(platform: Platform) -> None:
    """Red without "worker: what leaks goes with its process"."""
    before = set(children_of(platform.pid(StackRole.WORKER)))
    fill(platform, "leaks", PIECES_OF_A_PROCESS * PROCESSES + BACKLOG)
    is_done(platform, "leaks", PIECES_OF_A_PROCESS * PROCESSES + BACKLOG)
    after = set(children_of(platform.pid(StackRole.WORKER)))
    assert len(after) == PROCESSES
    assert not before <= after
