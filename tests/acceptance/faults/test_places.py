"""Many model calls in one process of a worker, which is asked to stop, or dies, in the middle of them all."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from afterturn.stack.roles import StackRole, dispatcher_command, worker_command
from llm.scripted import Mode
from tests.acceptance.faults.processes import OWN_BROKER, process
from tests.acceptance.platform import SOON_S, Platform, children_of
from tests.waiting import wait_until

CALLS = 12
ENDS_WITHIN_S = 5
"""So soon a process ends that waits for no call; the calls are answered later."""
ENDED_LEASES = """
select count(*) from due_work where key like 'place-killed-%' and state = 'running' and lease_until < now()
"""
PATIENT = {
    "AFTERTURN_PIECES_AT_ONCE": str(CALLS),
    # A busy machine opens the calls one after another; none of them may be late before the last one is open.
    "AFTERTURN_LLM_DEADLINE_BASE_S": "500",
    "AFTERTURN_LLM_DEADLINE_MAX_S": "600",
    "AFTERTURN_LLM_LOST_AFTER_S": "1000",
    "AFTERTURN_LEASE_S": "10",
    "AFTERTURN_RENEW_S": "1",
}


@contextmanager
def one_process(platform: Platform, place: Path) -> Iterator[int]:
    """A worker of one process for summaries, with a dispatcher and a broker of its own; its process id."""
    broker_url = f"{platform.broker_url.rsplit('/', 1)[0]}/{OWN_BROKER}"
    settings = {**platform.environment_of(StackRole.WORKER), **PATIENT, "AFTERTURN_BROKER_URL": broker_url}
    command = worker_command(("summaries",), concurrency=1, name="places")
    with (
        platform.paused(StackRole.DISPATCHER),
        process(dispatcher_command(), settings, place / "dispatcher"),
        process(command, settings, place / "worker") as pid,
    ):
        yield pid


def open_calls(platform: Platform, name: str) -> list[str]:
    """Sessions of so many calls that are all in flight in the same process."""
    sessions = [f"{name}-{number}" for number in range(CALLS)]
    platform.model.hold()
    platform.model.next(*[Mode.HANG] * CALLS)
    before = platform.model.count
    for session_id in sessions:
        platform.talk(session_id)
    wait_until(
        lambda: platform.model.count >= before + CALLS,
        within_s=SOON_S,
        what=lambda: f"{CALLS} calls in flight: {platform.model.count - before}",
    )
    return sessions


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(signal.SIGTERM, id="politely"),
        pytest.param(signal.SIGQUIT, id="urgently", marks=pytest.mark.soak),
    ],
)
def test_a_worker_asked_to_stop_ends_every_call_that_it_has_begun(
    platform: Platform, tmp_path: Path, asked: signal.Signals
) -> None:
    """Red without "places: a process that ends waits for its calls": each would be cut off and made again."""
    with one_process(platform, tmp_path) as pid:
        sessions = open_calls(platform, f"place-{asked.name}")
        os.kill(pid, asked)
        time.sleep(ENDS_WITHIN_S)
        platform.model.release()
        for session_id in sessions:
            platform.is_summarized(session_id)
        assert [platform.calls(session_id) for session_id in sessions] == [["ok"]] * CALLS
        wait_until(lambda: has_ended(pid), within_s=SOON_S, what="the worker has ended")


def has_ended(pid: int) -> bool:
    """Whether a process of ours has ended: it waits for us to ask, so it is still named."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_process_killed_in_the_middle_of_its_calls_loses_none(platform: Platform, tmp_path: Path) -> None:
    """The leases bring each piece back once, to be done alone by a worker of the isolation queue.

    Red without "claim: an expired lease is free".
    """
    with one_process(platform, tmp_path) as pid:
        sessions = open_calls(platform, "place-killed")
        for child in children_of(pid):
            os.kill(child, signal.SIGKILL)
        wait_until(
            lambda: platform.rows(ENDED_LEASES) == [(CALLS,)], within_s=SOON_S, what="the leases have ended"
        )
        platform.model.release()
    for session_id in sessions:
        platform.is_summarized(session_id)
    assert [platform.calls(session_id)[1:] for session_id in sessions] == [["ok"]] * CALLS
    crashes = platform.rows("select max(crashes) from due_work where key like 'place-killed-%'")
    assert crashes <= [(1,)]
