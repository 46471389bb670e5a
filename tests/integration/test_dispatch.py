"""From due work to a hint in the broker, and what happens when hints, brokers or connections are lost."""

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

from afterturn.stack.ports import ReservedPorts
from afterturn.stack.servers import valkey_program
from models import session
from models.hints import Hint
from models.work import WorkKind, WorkState, want
from tests.integration.works import QUICK, commit_work, state
from tests.waiting import wait_until
from workers.app import app
from workers.dispatch import ROUTES, Waker, dispatch_once, hint_sender, run
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


def test_a_hint_carries_an_id_and_ends_by_itself(
    tenant_id: UUID, work_id: int, celery: Celery, broker: redis.Redis
) -> None:
    """Redis may hold no word of a conversation, and no hint that outlives its use."""
    assert dispatch_once(hint_sender(celery, QUICK), QUICK) == 1
    [message] = queued(broker, "summaries")
    assert json.loads(base64.b64decode(message["body"]))[:2] == [[work_id], {}]
    assert message["headers"]["task"] == "summaries.summarize"
    assert message["headers"]["expires"] is not None
    assert datetime.fromisoformat(message["headers"]["hinted_until"]) == state(tenant_id).hinted_until
    assert message["headers"]["eta"] is None


def test_work_of_a_dead_worker_goes_to_the_isolated_queue(
    work_id: int, celery: Celery, broker: redis.Redis
) -> None:
    hint_sender(celery, QUICK)(Hint(work_id, WorkKind.SUMMARIZE, isolated=True))
    assert (len(queued(broker, "isolation")), len(queued(broker, "summaries"))) == (1, 0)


def test_every_kind_of_work_has_a_queue_and_a_task() -> None:
    assert set(ROUTES) == set(WorkKind)


def test_a_broker_that_is_away_costs_a_hint_and_nothing_else(work_id: int, tenant_id: UUID) -> None:
    with Celery("test", broker="redis://127.0.0.1:1/0", set_as_current=False) as away:
        away.conf.broker_transport_options = app.conf.broker_transport_options
        began = time.monotonic()
        with pytest.raises(BrokerError):
            dispatch_once(hint_sender(away, QUICK), QUICK)
        assert time.monotonic() - began < 15, "else it looks at nothing else for that long"
    assert state(tenant_id).state == WorkState.READY
    with session.transaction() as db:
        db.execute(text("update due_work set hinted_until = now()"))
    hints: list[Hint] = []
    assert dispatch_once(hints.append, QUICK) == 1
    assert [hint.work_id for hint in hints] == [work_id]


@pytest.mark.usefixtures("broker")
def test_several_dispatchers_at_once_send_one_hint_for_each_piece(tenant_id: UUID) -> None:
    with session.transaction() as db:
        for number in range(200):
            want(db, tenant_id, WorkKind.SUMMARIZE, f"s{number}")
    few = WorkerSettings(hints_at_once=7, hints_ahead=200, hint_lifetime_s=60)
    sent: list[Hint] = []

    def dispatch(_: int) -> None:
        while dispatch_once(sent.append, few):
            pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(dispatch, range(4)))
    assert len(sent) == len({hint.work_id for hint in sent}) == 200


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
    with session.reading() as db:
        return int(db.execute(text(query)).scalar_one()) > 0


@pytest.fixture
def waker(postgres_url: str) -> Iterator[Waker]:
    waker = Waker(postgres_url)
    yield waker
    waker.close()


def test_awaited_work_wakes_the_dispatcher_at_once(waker: Waker, tenant_id: UUID) -> None:
    def ask() -> None:
        with session.transaction() as db:
            want(db, tenant_id, WorkKind.SUMMARIZE, "s1", delay_s=60, awaited=True)

    assert woken_after(waker, ask, timeout_s=60) < 40


def test_other_work_waits_for_the_next_look(waker: Waker, tenant_id: UUID) -> None:
    """A notification in every intake would make their commits queue up."""

    def ask() -> None:
        with session.transaction() as db:
            want(db, tenant_id, WorkKind.SUMMARIZE, "s1")

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
    """It must not end at the first refused connection: nobody would send hints any more."""
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
        thread = threading.Thread(
            target=run, args=(stop.is_set, WorkerSettings(poll_s=0.05, hint_lifetime_s=0.5))
        )
        thread.start()
        try:
            wait_until(lambda: failures(logs), within_s=60, what="it has tried in vain")
            start()
            wait_until(lambda: answers(broker), within_s=60, what="the broker answers")
            wait_until(lambda: queued(broker, "summaries"), within_s=60, what=f"a hint at {work_id}")
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
