"""Processes are killed, frozen and doubled in the middle of their work: nothing is lost or done twice."""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from celery import Celery

from afterturn.stack.ports import ReservedPorts
from afterturn.stack.roles import Role, dispatcher_command, worker_command
from afterturn.stack.servers import valkey_program
from afterturn.stack.stack import Stack
from llm.scripted import Mode, ScriptedServer, Step
from tests.acceptance.platform import (
    MARKER,
    ROLES,
    SECRET_KEY,
    SOON_S,
    Platform,
    children_of,
    environment,
    messages_in,
)
from tests.data import ROOT
from tests.waiting import wait_until

SLOW = Step(Mode.SUMMARY, delay_s=3)
"""An answer that leaves time for a fault."""


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with ScriptedServer() as model, pytest.MonkeyPatch.context() as patch:
        for name, value in environment(model).items():
            patch.setenv(name, value)
        with Stack(roles=ROLES) as stack:
            running = Platform(stack, model)
            yield running
            running.close()


@contextmanager
def process(command: list[str], settings: Mapping[str, str], log: Path) -> Iterator[None]:
    """One more process of a role, outside the stack."""
    with log.open("wb") as output:
        started = subprocess.Popen(
            [sys.executable, *command[1:]], cwd=ROOT, env=dict(settings), stdout=output, stderr=output
        )
        try:
            yield
        finally:
            started.terminate()
            try:
                started.wait(30)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


def test_a_pool_process_killed_while_the_model_answers(platform: Platform) -> None:
    """The lease brings the work back; a broker's redelivery never would."""
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("child")
    for pid in children_of(platform.pid(Role.WORKER)):
        os.kill(pid, signal.SIGKILL)
    platform.is_summarized("child")
    assert platform.calls("child")[1:] == ["ok"]


def test_a_whole_worker_killed_while_the_model_answers(platform: Platform) -> None:
    platform.model.next(Mode.HANG)
    platform.begins_to_summarize("worker")
    platform.kill(Role.WORKER)
    platform.is_summarized("worker")
    assert platform.calls("worker")[1:] == ["ok"]


def test_a_dispatcher_killed_before_it_has_seen_the_work(platform: Platform) -> None:
    """It keeps nothing in memory that could be lost."""
    with platform.paused(Role.DISPATCHER):
        platform.talk("dispatcher")
        platform.kill(Role.DISPATCHER)
    platform.is_summarized("dispatcher")
    assert platform.calls("dispatcher") == ["ok"]


def test_all_hints_flushed_out_of_the_broker(platform: Platform) -> None:
    """Hints are sent again until somebody has done the work."""
    with platform.paused(Role.WORKER):
        platform.talk("flushed")
        with platform.broker() as broker:
            wait_until(lambda: broker.llen("summaries"), within_s=SOON_S, what="a hint waits")
            broker.flushall()
    platform.is_summarized("flushed")
    assert platform.calls("flushed") == ["ok"]


def test_a_broker_killed_while_hints_wait_in_it(platform: Platform) -> None:
    """It comes back empty."""
    with platform.paused(Role.WORKER):
        platform.talk("queued")
        with platform.broker() as broker:
            wait_until(lambda: broker.llen("summaries"), within_s=SOON_S, what="a hint waits")
        platform.kill(Role.VALKEY)
    platform.is_summarized("queued")
    assert platform.calls("queued") == ["ok"]


def test_a_broker_killed_while_the_model_answers(platform: Platform) -> None:
    """What runs goes on without a broker: its result goes to Postgres, and nobody is asked twice."""
    worker = platform.pid(Role.WORKER)
    platform.model.next(SLOW)
    platform.begins_to_summarize("broker")
    platform.kill(Role.VALKEY)
    platform.is_summarized("broker")
    assert platform.calls("broker") == ["ok"]
    platform.talk("broker-2")
    platform.is_summarized("broker-2")
    assert platform.pid(Role.WORKER) == worker, "it takes hints again, and had no need to be started anew"


def test_a_broker_that_hangs_for_a_while(platform: Platform) -> None:
    """Connections that stay open and say nothing."""
    with platform.paused(Role.VALKEY):
        platform.talk("frozen")
        wait_until(
            lambda: platform.rows("select 1 from due_work where key = 'frozen' and hinted_until > now()"),
            within_s=SOON_S,
            what="the dispatcher has tried",
        )
    platform.is_summarized("frozen")
    assert platform.calls("frozen") == ["ok"]


def test_a_worker_asked_to_stop_while_the_model_answers(platform: Platform) -> None:
    """It ends what it has begun, and the next one goes on."""
    platform.model.next(SLOW)
    platform.begins_to_summarize("stopped")
    os.kill(platform.pid(Role.WORKER), signal.SIGTERM)
    platform.is_summarized("stopped")
    assert platform.calls("stopped") == ["ok"]


def test_a_database_killed_while_the_model_answers(platform: Platform) -> None:
    """What was accepted is in the database that comes back, and so is the work."""
    platform.model.next(SLOW)
    platform.begins_to_summarize("postgres")
    platform.kill(Role.POSTGRES)
    wait_until(platform.database_answers, within_s=SOON_S, what="the database answers")
    platform.is_summarized("postgres")
    assert platform.calls("postgres")[-1] == "ok"


def test_a_hint_delivered_three_times(platform: Platform) -> None:
    platform.model.next(SLOW)
    before = platform.model.count
    with platform.paused(Role.DISPATCHER):
        platform.talk("thrice")
        work_id = platform.work_id("thrice")
        wait_until(
            lambda: platform.rows("select 1 from due_work where work_id = %s and due_at < now()", work_id),
            within_s=SOON_S,
            what="it is due",
        )
        with Celery("test", broker=platform.broker_url, set_as_current=False) as celery:
            for _ in range(3):
                celery.send_task("summaries.summarize", args=[work_id], queue="summaries", ignore_result=True)
        platform.is_summarized("thrice")
    assert platform.calls("thrice") == ["ok"]
    assert platform.model.count == before + 1


def test_two_dispatchers_at_once(platform: Platform, tmp_path: Path) -> None:
    sessions = [f"double-{number}" for number in range(6)]
    settings = platform.environment_of(Role.DISPATCHER)
    with process(dispatcher_command(), settings, tmp_path / "log"):
        for session_id in sessions:
            platform.talk(session_id)
        for session_id in sessions:
            platform.is_summarized(session_id)
    assert [platform.calls(session_id) for session_id in sessions] == [["ok"]] * len(sessions)


def test_a_broker_that_comes_later_than_everybody_else(platform: Platform, tmp_path: Path) -> None:
    with ReservedPorts() as ports, platform.paused(Role.DISPATCHER):
        port = ports.reserve()
        settings = {
            **platform.environment_of(Role.DISPATCHER),
            "AFTERTURN_BROKER_URL": f"redis://127.0.0.1:{port}/0",
        }
        log = tmp_path / "worker"
        with (
            process(dispatcher_command(), settings, tmp_path / "dispatcher"),
            process(worker_command(concurrency=1, name="late"), settings, log),
        ):
            platform.talk("late")
            wait_until(lambda: b"Cannot connect" in log.read_bytes(), within_s=SOON_S, what="it has tried")
            options = ["--bind", "127.0.0.1", "--port", str(port), "--save", ""]
            with server([str(valkey_program()), *options], tmp_path):
                platform.is_summarized("late")
    assert platform.calls("late") == ["ok"]


@contextmanager
def server(command: list[str], directory: Path) -> Iterator[None]:
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL) as started:
        try:
            yield
        finally:
            started.terminate()


def test_messages_to_workers_hold_ids_and_nothing_else(platform: Platform) -> None:
    with platform.paused(Role.WORKER), platform.broker() as broker:
        platform.talk("ids")
        wait_until(lambda: broker.llen("summaries"), within_s=SOON_S, what="a hint waits")
        messages = messages_in(broker, "summaries")
    for message in messages:
        args, kwargs, embedded = json.loads(base64.b64decode(message["body"]))
        assert [type(argument) for argument in args] == [int]
        assert kwargs == {}
        assert not any(embedded.values())
        assert MARKER not in json.dumps(message)
    platform.is_summarized("ids")


def test_after_all_this_every_accepted_turn_is_there_once(platform: Platform) -> None:
    platform.talk("last")
    platform.is_summarized("last")
    for session_id, turn_ids in platform.accepted.items():
        turns = platform.rows(
            "select turn_id from turn where session_id = %s order by turn_index", session_id
        )
        assert [turn_id for (turn_id,) in turns] == turn_ids
        seqs = platform.rows("select seq from message where session_id = %s order by seq", session_id)
        assert [seq for (seq,) in seqs] == list(range(1, 2 * len(turn_ids) + 1))
        platform.is_summarized(session_id)


def test_after_all_this_the_ledger_knows_every_call(platform: Platform) -> None:
    """What a crash cut off is closed as lost; each request that the model saw has its row."""
    platform.talk("ledger")
    platform.is_summarized("ledger")
    wait_until(
        lambda: not platform.rows("select 1 from llm_call where state = 'reserved'"),
        within_s=SOON_S,
        what="no call is open",
    )
    states = dict(platform.rows("select state, count(*) from llm_call group by state"))
    assert set(states) <= {"ok", "lost"}
    assert sum(states.values()) == platform.model.count


def test_after_all_this_no_log_holds_a_word_or_a_key(platform: Platform) -> None:
    platform.talk("quiet")
    platform.is_summarized("quiet")
    logs = {path.name: path.read_text(errors="replace") for path in platform.logs.iterdir()}
    assert {"api.log", "dispatcher.log", "worker.log", "beat.log", "postgres.log", "valkey.log"} <= set(logs)
    assert "work_done" in logs["worker.log"]
    for text in logs.values():
        assert MARKER not in text
        assert SECRET_KEY not in text
