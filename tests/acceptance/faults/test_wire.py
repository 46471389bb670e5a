"""Connections to the broker that break without a word, or with one: both sides find it again."""

from collections.abc import Callable, Collection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from afterturn.stack.roles import StackRole, dispatcher_command, worker_command
from tests.acceptance.faults.processes import process
from tests.acceptance.faults.wire import Wire, wire_to
from tests.acceptance.platform import SOON_S, Platform
from tests.waiting import wait_until


@pytest.mark.soak
def test_connections_that_swallow_everything(platform: Platform, tmp_path: Path) -> None:
    """Half-open: nobody is told that the other end is gone. Sockets have time-outs, bells are rung again.

    Red without "broker: a silent connection is given up": the dispatcher waits for an answer for ever.
    Red without "worker: a silent broker is noticed in seconds": the worker waits much longer for a bell.
    """
    _work_through_broken_wires(platform, tmp_path, "half-open", Wire.silence)


@pytest.mark.soak
def test_connections_that_are_reset(platform: Platform, tmp_path: Path) -> None:
    """Workers consume again over new connections, by themselves.

    Red without "worker: its broker may go away": nobody would start this one anew.
    """
    _work_through_broken_wires(platform, tmp_path, "reset", Wire.reset)


def _work_through_broken_wires(
    platform: Platform, place: Path, name: str, break_it: Callable[[Wire], int]
) -> None:
    """A dispatcher and a worker of our own reach the broker by wires; those of the stack stand still.

    Workers look for due work without bells too: that both listen and ring again is seen at the broker.
    """
    address = urlsplit(platform.broker_url)
    assert address.port
    with (
        wire_to(address.port) as ringing,
        wire_to(address.port) as hearing,
        platform.paused(StackRole.DISPATCHER),
        platform.paused(StackRole.WORKER),
        platform.paused(StackRole.BEAT),
    ):
        through = {
            wire: {
                **platform.environment_of(StackRole.DISPATCHER),
                "AFTERTURN_BROKER_URL": platform.broker_url.replace(f":{address.port}", f":{wire.port}"),
            }
            for wire in (ringing, hearing)
        }
        with (
            process(dispatcher_command(), through[ringing], place / "dispatcher"),
            process(worker_command(concurrency=1, name=name), through[hearing], place / "worker"),
        ):
            platform.talk(f"{name}-before")
            platform.is_summarized(f"{name}-before")
            known = _connections(platform)
            assert break_it(ringing)
            assert break_it(hearing)
            platform.talk(f"{name}-after")
            platform.is_summarized(f"{name}-after")
            wait_until(lambda: ringing.connections, within_s=SOON_S, what="the dispatcher rings again")
            wait_until(
                lambda: _has_listener_beside(platform, known),
                within_s=SOON_S,
                what="the worker listens again",
            )


def _connections(platform: Platform) -> dict[int, str]:
    """The connections of the broker, with what each did last."""
    with platform.broker() as broker:
        return {int(one["id"]): one["cmd"] for one in broker.client_list()}


def _has_listener_beside(platform: Platform, known: Collection[int]) -> bool:
    """Whether somebody waits for bells over a connection that is not known."""
    return any(cmd == "brpop" for at, cmd in _connections(platform).items() if at not in known)
