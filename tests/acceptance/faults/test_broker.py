"""The broker forgets, hangs, resets and comes late: bells are rung again while something is due."""

import base64
import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from celery import Celery

from afterturn.stack.compose import ReservedPorts
from afterturn.stack.roles import StackRole, dispatcher_command, worker_command
from afterturn.stack.servers import valkey_program
from llm.scripted import Mode, Step
from tests.acceptance.faults.processes import nobody_listens, process, server
from tests.acceptance.faults.test_bells import PROCESSES, fill, is_done
from tests.acceptance.platform import (
    MARKER,
    SECRET_KEY,
    SOON_S,
    Platform,
    children_of,
    dialogue,
    messages_in,
    stands_still,
)
from tests.waiting import wait_until
from workers.drain import PIECES_OF_A_PROCESS

SLOW = Step(Mode.SUMMARY, delay_s=3)
"""An answer that leaves time for a fault."""

REFUSE = """
create function refuse() returns trigger language plpgsql as $$
begin raise exception 'the row is refused' using detail = new.body; end $$;
create trigger refused before insert on message
    for each row when (new.session_id = '{}') execute function refuse();
"""


def a_bell_waits(platform: Platform) -> None:
    with platform.broker() as broker:
        wait_until(lambda: broker.llen("summaries"), within_s=SOON_S, what="a bell waits")


def fails_to_ring(platform: Platform) -> int:
    """How often the dispatcher has given up on the broker."""
    return platform.logs.texts()["dispatcher.log"].count("dispatch_failed")


def test_all_bells_flushed_out_of_the_broker(platform: Platform) -> None:
    """A bell that nobody heard is rung again.

    Red without "bells: rung again while something is due".
    """
    with nobody_listens(platform):
        platform.talk("flushed")
        a_bell_waits(platform)
        with platform.broker() as broker:
            broker.flushall()
    platform.is_summarized("flushed")
    assert platform.calls("flushed") == ["ok"]


def test_a_broker_killed_while_bells_wait_in_it(platform: Platform) -> None:
    """It comes back empty, and a bell that nobody heard is rung again.

    Red without "bells: rung again while something is due".
    """
    with nobody_listens(platform):
        platform.talk("queued")
        a_bell_waits(platform)
        platform.kill(StackRole.VALKEY)
    platform.is_summarized("queued")
    assert platform.calls("queued") == ["ok"]


def test_a_broker_killed_while_the_model_answers(platform: Platform) -> None:
    """What runs goes on without a broker: its result goes to Postgres, and nobody is asked twice.

    Red without "worker: a bell is taken when its task starts": there is nothing to tell the broker later.
    """
    worker = platform.pid(StackRole.WORKER)
    platform.model.next(SLOW)
    platform.begins_to_summarize("broker")
    platform.kill(StackRole.VALKEY)
    platform.is_summarized("broker")
    assert platform.calls("broker") == ["ok"]
    platform.talk("broker-2")
    platform.is_summarized("broker-2")
    assert platform.pid(StackRole.WORKER) == worker, (
        "it hears bells again, and had no need to be started anew"
    )


def test_a_broker_that_hangs_for_a_while(platform: Platform) -> None:
    """Connections stay open and say nothing: the dispatcher gives up each in seconds, and tries the next.

    Red without "broker: a silent connection is given up": it would wait for the answer to its first bell.
    """
    dispatcher, sessions = platform.pid(StackRole.DISPATCHER), ("frozen", "frozen-2")
    with platform.paused(StackRole.VALKEY):
        for session_id in sessions:
            failed = fails_to_ring(platform)
            platform.talk(session_id)
            wait_until(
                lambda failed=failed: fails_to_ring(platform) > failed,  # type: ignore[misc]
                within_s=SOON_S,
                what="it gives a connection up",
            )
    for session_id in sessions:
        platform.is_summarized(session_id)
        assert platform.calls(session_id) == ["ok"]
    assert platform.pid(StackRole.DISPATCHER) == dispatcher, "it had no need to be started anew"


def test_hints_of_older_code_delivered_three_times(platform: Platform) -> None:
    """They are bells: one of those who come with them at once gets the lease.

    Red without "claim: a lease admits one".
    """
    platform.model.next(SLOW)
    with platform.paused(StackRole.DISPATCHER):
        platform.talk("thrice")
        work_id = platform.work_id("thrice")
        wait_until(
            lambda: platform.rows("select 1 from due_work where work_id = %s and due_at < now()", work_id),
            within_s=SOON_S,
            what="it is due",
        )
        with Celery("test", broker=platform.broker_url, set_as_current=False) as celery:

            def is_done() -> bool:
                """Send three at once, while it is due and while it is held: a process looks once a second."""
                for _ in range(3):
                    celery.send_task(
                        "summaries.summarize", args=[work_id], queue="summaries", ignore_result=True
                    )
                done = "select 1 from due_work where work_id = %s and finished_at is not null"
                return bool(platform.rows(done, work_id))

            wait_until(is_done, within_s=SOON_S, what="a worker does the work")
        platform.is_summarized("thrice")
    assert platform.calls("thrice") == ["ok"]


@pytest.mark.soak
def test_a_broker_that_comes_later_than_everybody_else(platform: Platform, tmp_path: Path) -> None:
    """Who finds no broker tries again; nobody would start these processes anew.

    Red without "worker: its broker may come late". Red without "dispatcher: it outlives its broker".
    """
    with ReservedPorts() as ports, platform.paused(StackRole.DISPATCHER):
        port = ports.reserve()
        settings = {
            **platform.environment_of(StackRole.DISPATCHER),
            "AFTERTURN_BROKER_URL": f"redis://127.0.0.1:{port}/0",
        }
        dispatcher, worker = tmp_path / "dispatcher", tmp_path / "worker"
        with (
            process(dispatcher_command(), settings, dispatcher),
            process(worker_command(concurrency=1, name="late"), settings, worker),
        ):
            platform.talk("late")
            for log, tried in ((dispatcher, b"dispatch_failed"), (worker, b"Cannot connect")):
                wait_until(
                    lambda log=log, tried=tried: tried in log.read_bytes(),  # type: ignore[misc]
                    within_s=SOON_S,
                    what=f"the {log.name} has tried",
                )
            options = ["--bind", "127.0.0.1", "--port", str(port), "--save", ""]
            with server([str(valkey_program()), *options], tmp_path):
                platform.is_summarized("late")
    assert platform.calls("late") == ["ok"]


class OwnBroker:
    """A broker, a dispatcher and a worker of our own; those of the stack stand still.

    Attributes:
        worker: The worker's process.
    """

    def __init__(self, platform: Platform, place: Path, running: ExitStack) -> None:
        port = running.enter_context(ReservedPorts()).reserve()
        self._command = [str(valkey_program()), "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
        self._place, self._running = place, running
        settings = {
            **platform.environment_of(StackRole.DISPATCHER),
            "AFTERTURN_BROKER_URL": f"redis://127.0.0.1:{port}/0",
        }
        for role in (StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT):
            running.enter_context(platform.paused(role))
        self._broker = running.enter_context(server(self._command, place))
        running.enter_context(process(dispatcher_command(), settings, place / "dispatcher"))
        self.worker = running.enter_context(
            process(worker_command(concurrency=2, name="own"), settings, place / "worker")
        )
        running.callback(self._broker.kill)

    def goes(self, fault: signal.Signals) -> None:
        self._broker.send_signal(fault)

    def comes_back(self) -> None:
        self._broker.kill()
        self._broker.wait()
        self._broker = self._running.enter_context(server(self._command, self._place))


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["ends", "hangs"])
def test_work_goes_on_while_the_broker_is_away(
    platform: Platform, tmp_path: Path, fault: signal.Signals
) -> None:
    """A process of the pool rings for itself: all that is due gets done, and ticks are made.

    Red without "worker: it rings for itself while its broker is away".
    """
    before, *meanwhile, after = (f"away-{fault.name}-{number}" for number in range(8))
    ticks = "select 1 from heartbeat where role = 'worker' and instance like %s and seen_at > %s"
    with ExitStack() as running:
        own = OwnBroker(platform, tmp_path, running)
        platform.talk(before)
        platform.is_summarized(before)
        own.goes(fault)
        [(now,)] = platform.rows("select now()")
        for session_id in meanwhile:
            platform.talk(session_id)
        for session_id in meanwhile:
            platform.is_summarized(session_id)
        wait_until(
            lambda: platform.rows(ticks, f"%:{own.worker}", now), within_s=SOON_S, what="it ticks by itself"
        )
        own.comes_back()
        platform.talk(after)
        platform.is_summarized(after)
        assert Path(f"/proc/{own.worker}").exists(), "it had no need to be started anew"
    for session_id in (before, *meanwhile, after):
        assert platform.calls(session_id) == ["ok"]


def test_a_worker_asked_to_stop_while_the_broker_is_away(platform: Platform, tmp_path: Path) -> None:
    """It ends what it has begun by a bell of its own, and begins nothing more.

    Red without "worker: it rings for itself while its broker is away".
    """
    with ExitStack() as running:
        own = OwnBroker(platform, tmp_path, running)
        platform.talk("asked-before")
        platform.is_summarized("asked-before")
        own.goes(signal.SIGKILL)
        platform.model.next(SLOW)
        platform.begins_to_summarize("asked")
        os.kill(own.worker, signal.SIGTERM)
        platform.is_summarized("asked")
        wait_until(lambda: stands_still(own.worker), within_s=SOON_S, what="the worker has ended")
        platform.talk("asked-after")
    platform.is_summarized("asked-after")
    for session_id in ("asked-before", "asked", "asked-after"):
        assert platform.calls(session_id) == ["ok"]


@pytest.mark.soak
def test_a_process_of_the_pool_stays_while_nobody_would_start_its_successor(
    platform: Platform, tmp_path: Path
) -> None:
    """Twice as many pieces as end a process: each is done without a broker, and the processes end with it.

    Red without "worker: a process ends when another can come".
    """
    pieces = 2 * PIECES_OF_A_PROCESS * PROCESSES
    with ExitStack() as running:
        own = OwnBroker(platform, tmp_path, running)
        platform.talk("spent")
        platform.is_summarized("spent")
        own.goes(signal.SIGKILL)
        before = set(children_of(own.worker))
        fill(platform, "spent", pieces)
        is_done(platform, "spent", pieces)
        assert set(children_of(own.worker)) == before
        own.comes_back()
        wait_until(
            lambda: len(set(children_of(own.worker)) - before) == PROCESSES,
            within_s=SOON_S,
            what="others",
        )
        fill(platform, "fresh", PROCESSES)
        is_done(platform, "fresh", PROCESSES)


def test_messages_to_workers_hold_a_time_and_nothing_else(platform: Platform) -> None:
    """What a broker is told may be read by whoever can reach it.

    Red without "bells: nothing of the work".
    """
    with nobody_listens(platform), platform.broker() as broker:
        platform.talk("ids")
        a_bell_waits(platform)
        messages = messages_in(broker, "summaries")
    assert messages
    for message in messages:
        args, kwargs, embedded = json.loads(base64.b64decode(message["body"]))
        assert args == []
        assert kwargs == {}
        assert not any(embedded.values())
        assert MARKER not in json.dumps(message)
    platform.is_summarized("ids")


@contextmanager
def a_table_that_refuses(platform: Platform, session_id: str) -> Iterator[None]:
    """Let the database refuse the messages of a session and quote them, by an error that nobody expects."""
    with psycopg.connect(platform.database_url, autocommit=True) as database:
        database.execute(REFUSE.format(session_id).encode())
        try:
            yield
        finally:
            database.execute("drop function refuse() cascade")


def test_no_log_holds_a_word_or_a_key(platform: Platform) -> None:
    """Nor where a row is refused, which Postgres and its driver would both print in full.

    Red without "logs: an error is told by its kind". Red without "logs: Postgres tells of no rows".
    """
    platform.talk("quiet")
    platform.is_summarized("quiet")
    with a_table_that_refuses(platform, "refused"):
        answer = platform.send("refused", "refused-1", dialogue(1))
    assert answer is not None
    assert answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR
    assert MARKER not in answer.text
    wait_until(
        lambda: "request_failed" in platform.logs.texts()["api.log"], within_s=SOON_S, what="it is told"
    )
    logs = platform.logs.texts()
    assert {"api.log", "dispatcher.log", "worker.log", "beat.log", "postgres.log", "valkey.log"} <= set(logs)
    assert "work_done" in logs["worker.log"]
    assert "the row is refused" in logs["postgres.log"]
    for text in logs.values():
        assert MARKER not in text
        assert SECRET_KEY not in text
