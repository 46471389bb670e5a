"""The broker forgets, hangs, resets and comes late: hints are sent again until the work is done."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from celery import Celery

from afterturn.stack.ports import ReservedPorts
from afterturn.stack.roles import Role, dispatcher_command, worker_command
from afterturn.stack.servers import valkey_program
from llm.scripted import Mode, Step
from tests.acceptance.faults.processes import process, server
from tests.acceptance.faults.wire import Wire, wire_to
from tests.acceptance.platform import MARKER, SECRET_KEY, SOON_S, Platform, messages_in
from tests.waiting import wait_until

SLOW = Step(Mode.SUMMARY, delay_s=3)
"""An answer that leaves time for a fault."""


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


def test_connections_that_swallow_everything(platform: Platform, tmp_path: Path) -> None:
    """Half-open: nobody is told that the other end is gone. Sockets have time-outs, hints come again."""

    def swallow(wire: Wire) -> None:
        assert wire.silence() > 1

    _work_through_a_broken_wire(platform, tmp_path, "half-open", swallow)


def test_connections_that_are_reset(platform: Platform, tmp_path: Path) -> None:
    """Workers consume again over new connections, by themselves."""

    def reset(wire: Wire) -> None:
        assert wire.reset() > 1

    _work_through_a_broken_wire(platform, tmp_path, "reset", reset)


def _work_through_a_broken_wire(
    platform: Platform, place: Path, name: str, break_it: Callable[[Wire], None]
) -> None:
    """A dispatcher and a worker of our own reach the broker by a wire; those of the stack stand still."""
    address = urlsplit(platform.broker_url)
    assert address.port
    with (
        wire_to(address.port) as wire,
        platform.paused(Role.DISPATCHER),
        platform.paused(Role.WORKER),
        platform.paused(Role.BEAT),
    ):
        through = platform.broker_url.replace(f":{address.port}", f":{wire.port}")
        settings = {**platform.environment_of(Role.DISPATCHER), "AFTERTURN_BROKER_URL": through}
        with (
            process(dispatcher_command(), settings, place / "dispatcher"),
            process(worker_command(concurrency=1, name=name), settings, place / "worker"),
        ):
            platform.talk(f"{name}-before")
            platform.is_summarized(f"{name}-before")
            break_it(wire)
            platform.talk(f"{name}-after")
            platform.is_summarized(f"{name}-after")


def test_no_log_holds_a_word_or_a_key(platform: Platform) -> None:
    platform.talk("quiet")
    platform.is_summarized("quiet")
    logs = {path.name: path.read_text(errors="replace") for path in platform.logs.iterdir()}
    assert {"api.log", "dispatcher.log", "worker.log", "beat.log", "postgres.log", "valkey.log"} <= set(logs)
    assert "work_done" in logs["worker.log"]
    for text in logs.values():
        assert MARKER not in text
        assert SECRET_KEY not in text
