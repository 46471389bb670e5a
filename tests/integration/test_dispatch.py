"""From due work to a bell in the broker, and what happens when bells, brokers or connections are lost."""

import base64
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
import redis
import structlog
from celery import Celery
from kombu import Queue
from kombu.exceptions import OperationalError as BrokerError
from sqlalchemy import text

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.servers import valkey_program
from models import database as session
from models.due_work.kinds import WorkQueue
from models.due_work.queue import WorkKind, WorkState, enqueue, enqueue_many
from models.scope import Scope
from tests.integration.works import QUICK, commit_work, state
from tests.waiting import wait_until
from workers.app import app
from workers.dispatch import MOST_WAITING, Bells, Waker, dispatch_once, keep_short, run
from workers.drain import Served, served_by
from workers.settings import WorkerSettings


@pytest.fixture
def work_id(tenant_id: UUID) -> int:
    return commit_work(tenant_id)


@pytest.fixture
def broker(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as connection:
        connection.flushall()
        yield connection


@pytest.fixture
def celery(valkey_url: str, broker: object) -> Iterator[Celery]:  # noqa: ARG001 (emptied first)
    with Celery("test", broker=valkey_url, set_as_current=False) as plain:
        plain.conf.update(task_queues=[Queue("summaries"), Queue("isolation")], result_backend=None)
        yield plain


def queued(broker: redis.Redis, queue: str) -> list[dict[str, Any]]:
    return [json.loads(message) for message in broker.lrange(queue, 0, -1)]


def want_many(tenant_id: UUID, pieces: int) -> None:
    with session.transaction() as db:
        enqueue_many(Scope(db, tenant_id), WorkKind.SUMMARIZE, [f"s{number}" for number in range(pieces)])


@pytest.mark.usefixtures("work_id")
def test_a_bell_says_when_something_was_due_and_nothing_else(celery: Celery, broker: redis.Redis) -> None:
    """Redis may hold no word of a conversation, and no number of any work."""
    with session.read_transaction() as db:
        before = db.execute(text("select now()")).scalar_one()
    assert dispatch_once(Bells(celery), QUICK) == 1
    [message] = queued(broker, "summaries")
    assert json.loads(base64.b64decode(message["body"]))[:2] == [[], {}]
    assert message["headers"]["task"] == "bell"
    assert datetime.fromisoformat(message["headers"]["rung_at"]) >= before
    assert (message["headers"]["eta"], message["headers"]["expires"]) == (None, None)


def test_work_of_a_dead_worker_rings_in_the_isolated_queue(
    work_id: int, celery: Celery, broker: redis.Redis
) -> None:
    with session.transaction() as db:
        db.execute(text("update due_work set crashes = 1 where work_id = :id"), {"id": work_id})
    assert dispatch_once(Bells(celery), QUICK) == 1
    assert (len(queued(broker, "isolation")), len(queued(broker, "summaries"))) == (1, 0)


def test_every_kind_of_work_has_a_queue_and_every_queue_a_kind() -> None:
    assert {kind.queue for kind in WorkKind} | {WorkQueue.ISOLATION} == set(WorkQueue)
    assert served_by(WorkQueue) == Served(tuple(WorkKind), isolated=True, only_waits=False)
    assert served_by(["learning"]) == Served((WorkKind.LEARN,), isolated=False, only_waits=False)


@pytest.mark.parametrize(("pieces", "bells"), [(0, 0), (1, 1), (3, 3), (4, 4), (5, 4), (300, 4)])
def test_no_more_bells_wait_than_there_is_work_or_than_may(
    tenant_id: UUID, celery: Celery, broker: redis.Redis, pieces: int, bells: int
) -> None:
    """However often somebody looks, and whether or not anybody takes them."""
    want_many(tenant_id, pieces)
    sent = [dispatch_once(Bells(celery), WorkerSettings(bells_ahead=4)) for _ in range(5)]
    assert sent == [bells, 0, 0, 0, 0]
    assert len(queued(broker, "summaries")) == bells


def test_a_bell_that_was_taken_or_lost_is_rung_again_while_something_is_due(
    tenant_id: UUID, celery: Celery, broker: redis.Redis
) -> None:
    want_many(tenant_id, 9)
    assert dispatch_once(Bells(celery), QUICK) == 4
    broker.lpop("summaries")
    assert dispatch_once(Bells(celery), QUICK) == 1
    broker.flushall()
    assert dispatch_once(Bells(celery), QUICK) == 4


def test_what_is_left_in_a_queue_keeps_no_bell_out_and_is_thrown_away(
    tenant_id: UUID, celery: Celery, broker: redis.Redis
) -> None:
    """Whoever takes a message looks for due work, whatever it says; five thousand would hold up ticks."""
    want_many(tenant_id, 9)
    for queue, messages in (("summaries", MOST_WAITING), ("isolation", MOST_WAITING + 1)):
        broker.rpush(queue, *["stale"] * messages)
    assert dispatch_once(Bells(celery), QUICK) == 0
    held = keep_short(Bells(celery))
    assert (held["summaries"], held["isolation"], held["plans"]) == (MOST_WAITING, MOST_WAITING + 1, 0)
    assert (broker.llen("summaries"), broker.llen("isolation")) == (MOST_WAITING, 0)


def test_a_broker_that_is_away_costs_a_bell_and_nothing_else(
    work_id: int, tenant_id: UUID, celery: Celery
) -> None:
    with Celery("test", broker="redis://127.0.0.1:1/0", set_as_current=False) as away:
        away.conf.broker_transport_options = app.conf.broker_transport_options
        began = time.monotonic()
        with pytest.raises(BrokerError):
            dispatch_once(Bells(away), QUICK)
        assert time.monotonic() - began < 15, "else it looks at nothing else for that long"
    found = state(tenant_id)
    assert (found.work_id, found.state) == (work_id, WorkState.READY)
    assert dispatch_once(Bells(celery), QUICK) == 1


def test_several_dispatchers_at_once_ring_no_more_than_each_of_them_may(
    tenant_id: UUID, celery: Celery, broker: redis.Redis
) -> None:
    want_many(tenant_id, 200)
    bells = Bells(celery)
    with ThreadPoolExecutor(4) as pool:
        sent = list(pool.map(lambda _: dispatch_once(bells, QUICK), range(100)))
    assert sum(sent) == len(queued(broker, "summaries"))
    assert 4 <= sum(sent) <= 16


def woken_after(waker: Waker, act: Callable[[], None], timeout_s: float) -> float:
    """How long a wait lasts when something is done once it has begun."""
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        waiting = pool.submit(waker.wait, timeout_s)
        wait_until(listens, within_s=30, what="somebody listens")
        act()
        waiting.result()
    return time.monotonic() - began


def listens() -> bool:
    """Whether anybody has begun to listen, and is done with that."""
    query = "select count(*) from pg_stat_activity where query = 'listen due_work' and state = 'idle'"
    with session.read_transaction() as db:
        return int(db.execute(text(query)).scalar_one()) > 0


@pytest.fixture
def waker(postgres_url: str) -> Iterator[Waker]:
    waker = Waker(postgres_url)
    yield waker
    waker.close()


def test_awaited_work_wakes_the_dispatcher_at_once(waker: Waker, tenant_id: UUID) -> None:
    def ask() -> None:
        with session.transaction() as db:
            enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, "s1", delay_s=60, awaited=True)

    assert woken_after(waker, ask, timeout_s=60) < 40


def test_other_work_waits_for_the_next_look(waker: Waker, tenant_id: UUID) -> None:
    """A notification in every intake would make their commits queue up."""

    def ask() -> None:
        with session.transaction() as db:
            enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, "s1")

    assert woken_after(waker, ask, timeout_s=1) >= 1


def test_a_lost_connection_is_opened_again(waker: Waker, tenant_id: UUID, postgres_url: str) -> None:
    waker.wait(0)
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen due_work'"
        )
    # Else it would be heard too late that the connection is lost, or be taken for the next one.
    wait_until(lambda: not listens(), within_s=30, what="the connection is gone")
    waker.wait(0.1)
    test_awaited_work_wakes_the_dispatcher_at_once(waker, tenant_id)


@pytest.fixture
def late_broker(tmp_path: Path) -> Iterator[tuple[int, Callable[[], None]]]:
    """A port on which a broker will listen, and what starts it."""
    started: list[subprocess.Popen[bytes]] = []
    with ReservedPorts() as ports:
        port = ports.reserve()

        def start() -> None:
            options = ["--bind", "127.0.0.1", "--port", str(port), "--save", ""]
            command = [str(valkey_program()), *options]
            started.append(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL))

        yield port, start
        for one in started:
            one.terminate()
            one.wait(60)


def test_the_dispatcher_waits_for_its_broker_and_stops_when_asked(
    work_id: int, late_broker: tuple[int, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not end at the first refused connection: nobody would ring any more."""
    port, start = late_broker
    url, stop = f"redis://127.0.0.1:{port}/0", threading.Event()
    with (
        Celery("test", broker=url, set_as_current=False) as late,
        redis.Redis.from_url(url) as broker,
        structlog.testing.capture_logs() as logs,
    ):
        late.conf.update(
            task_queues=[Queue("summaries")], broker_transport_options=app.conf.broker_transport_options
        )
        monkeypatch.setattr("workers.dispatch.app", late)
        thread = threading.Thread(target=run, args=(stop.is_set, WorkerSettings(poll_s=0.05)))
        thread.start()
        try:
            wait_until(lambda: failures(logs), within_s=60, what="it has tried in vain")
            start()
            wait_until(lambda: answers(broker), within_s=60, what="the broker answers")
            wait_until(lambda: queued(broker, "summaries"), within_s=60, what=f"a bell for {work_id}")
        finally:
            stop.set()
            thread.join(60)
    assert not thread.is_alive()


def failures(logs: Sequence[Mapping[str, Any]]) -> int:
    return [line["event"] for line in logs].count("dispatch_failed")


def answers(broker: redis.Redis) -> bool:
    with suppress(redis.ConnectionError):
        return bool(broker.ping())
    return False
