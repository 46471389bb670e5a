"""The clocks of the machines disagree by hours: the database's own decides what is due, held and over."""

import struct
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest

from afterturn.stack.roles import StackRole, beat_command, worker_command
from llm.scripted import Mode, Step
from tests.acceptance.faults.processes import api, background, process
from tests.acceptance.platform import LEASE_S, SOON_S, Platform, dialogue
from tests.waiting import wait_until

HOUR_S = 3600
CLOCK = Path(__file__).with_name("clock")
"""What a child imports at its start that tells it another time."""

SLOW = Step(Mode.SUMMARY, delay_s=3)
"""An answer that leaves time to take the work from who has it."""


LONG = Step(Mode.SUMMARY, delay_s=LEASE_S + 1)
"""An answer for which a lease must be renewed."""


class Clock:
    """A clock that processes are told, and that can be set while they run."""

    def __init__(self, path: Path, off_s: float = 0.0) -> None:
        self._path = path
        path.write_bytes(struct.pack("d", off_s))

    def jump(self, off_s: float) -> None:
        """Set it so many seconds beside the real time."""
        with self._path.open("r+b") as file:
            file.write(struct.pack("d", off_s))

    @property
    def told(self) -> dict[str, str]:
        """What a process must be given."""
        return {"PYTHONPATH": str(CLOCK), "CLOCK_FILE": str(self._path)}


def beat(platform: Platform, place: Path, settings: Mapping[str, str]) -> AbstractContextManager[object]:
    shared = {**platform.environment_of(StackRole.BEAT), **settings}
    return process(beat_command(str(place / "schedule")), shared, place / "beat")


def off_s(client: httpx.Client) -> float:
    """How far the clock of an API is ahead of ours."""
    told = parsedate_to_datetime(client.get("/healthz").headers["date"])
    return (told - datetime.now(UTC)).total_seconds()


@pytest.mark.soak
@pytest.mark.parametrize(("senders_s", "takers_s"), [(-HOUR_S, HOUR_S), (HOUR_S, -HOUR_S)])
def test_clocks_that_disagree_by_hours_do_no_harm(
    platform: Platform, tmp_path: Path, senders_s: int, takers_s: int
) -> None:
    """Leases, due times and the times of bells are told by the database's clock, and by no other.

    Red without "ticks: clocks may be apart", where they are told by a clock that is behind. Red without
    "due times: told by the database's clock", where an API is ahead. Red without "leases: told by the
    database's clock", where a worker is behind: its lease would be over before it began.
    """
    session_id = f"clocks-{senders_s}"
    senders, takers = (Clock(tmp_path / f"clock{off}", off) for off in (senders_s, takers_s))
    with (
        platform.paused(StackRole.BEAT),
        background(
            platform,
            tmp_path,
            takers.told,
            worker=worker_command(concurrency=2, name="own"),
            of_dispatcher=senders.told,
        ) as broker_url,
        beat(platform, tmp_path, {**senders.told, "AFTERTURN_BROKER_URL": broker_url}),
        api(platform, tmp_path, takers.told) as client,
        platform.through(client),
    ):
        assert abs(off_s(client) - takers_s) < HOUR_S / 2
        [(began,)] = platform.rows("select now()")
        platform.model.next(SLOW)
        platform.talk(session_id)
        platform.is_summarized(session_id)
        assert platform.calls(session_id) == ["ok"]
        turn = {
            "turn_id": "timed",
            "messages": dialogue(5, session_id),
            "completed_at": datetime.now(UTC).isoformat(),
        }
        platform.log.sends(session_id, "timed")
        answer = client.post(f"/v1/sessions/{session_id}/turns", json=turn)
        assert answer.status_code == httpx.codes.ACCEPTED
        swept = "select 1 from due_work where kind = 'sweep' and key = 'tables' and finished_at > %s"
        wait_until(lambda: platform.rows(swept, began), within_s=SOON_S, what="a tick was taken")


@pytest.mark.soak
def test_a_clock_that_jumps_while_a_lease_runs_changes_nothing(platform: Platform, tmp_path: Path) -> None:
    """An hour ahead and an hour back while the model answers: nobody else takes the work, all goes on.

    Red without "leases: renewed by the database's clock": by one that fell back, the lease would be over.
    """
    clock = Clock(tmp_path / "clock")
    own = worker_command(concurrency=2, name="own")
    with background(platform, tmp_path, clock.told, worker=own):
        for name, off_s in (("ahead", HOUR_S), ("back", -HOUR_S)):
            session_id = f"jump-{name}"
            platform.model.next(LONG)
            platform.begins_to_summarize(session_id)
            clock.jump(off_s)
            platform.is_summarized(session_id)
            assert platform.calls(session_id) == ["ok"]
