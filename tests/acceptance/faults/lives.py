"""Lives with many trigger points, and what must be true of each whatever point of it a process died at."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from afterturn.stack.roles import StackRole
from llm.scripted import Mode, Step
from tests.acceptance.faults.points import Point
from tests.acceptance.faults.ring import RENEW_S, Ring
from tests.acceptance.ledger import find_uncounted
from tests.acceptance.platform import WISH, dialogue
from tests.acceptance.windows import broken_window
from tests.oracle import find_violations

BY_THE_CLOCK = ("models/telemetry/counters.py _flush", "workers/telemetry.py show_life")
"""What processes commit from time to time, whatever life goes through them."""

RENEWAL = "workers/jobs/lifecycle.py keep"
"""The commit of a lease that is renewed: only a long answer is sure to come to it."""

LONG = Step(Mode.SUMMARY, delay_s=RENEW_S * 3)
"""An answer for which a lease is renewed."""


class Life(ABC):
    """Something that a platform asks for, from its first request to its last.

    Attributes:
        name: What it is.
    """

    name: str

    def prepare(self, ring: Ring, key: str) -> None:
        """Do what comes before it; nobody dies meanwhile."""
        del ring, key

    def takes(self, point: Point) -> bool:
        """Whether a point that was passed is one of its own.

        Of bells the first counts: how often one is rung again is up to the machine.
        """
        is_bell_again = point.role == StackRole.DISPATCHER and point.times > 1
        return not is_bell_again and not point.what.endswith((*BY_THE_CLOCK, RENEWAL))

    @abstractmethod
    def live(self, ring: Ring, key: str) -> None:
        """Go through it, as a careful client does, until nothing of it is left to do.

        Args:
            ring: The processes that do it.
            key: Names what only this one has.
        """

    @abstractmethod
    def faults(self, ring: Ring, key: str) -> Iterator[str]:
        """What is wrong afterwards: a sentence each."""


class SummaryLife(Life):
    """A turn is accepted, its session is summarized and indexed, and the next context is read."""

    name = "summary"

    def takes(self, point: Point) -> bool:
        """Its answer is long enough for a renewal."""
        return super().takes(point) or (point.what.endswith(RENEWAL) and point.times == 1)

    def live(self, ring: Ring, key: str) -> None:
        """Send as much in one turn as calls for a summary."""
        ring.platform.model.next(LONG)
        send_long_turn(ring, key)
        ring.is_done(key)
        ring.ask("POST", f"/v1/sessions/{key}/context", WISH)

    def faults(self, ring: Ring, key: str) -> Iterator[str]:
        """One summary is in force, the next window is whole, and each call is in the ledger."""
        platform = ring.platform
        yield from faults_of_session(ring, key)
        summaries = platform.client.get(f"/v1/sessions/{key}/summaries").json()["summaries"]
        found = [(one["version"], one["state"], one["from_seq"], one["to_seq"]) for one in summaries]
        if found != [(1, "active", 1, 6)]:
            yield f"{key}: its summaries are {found}"
        yield from (f"{key}: {fault}" for fault in broken_window(platform.window(key), known_seq=8))
        indexed = platform.rows("select 1 from recall_passage where session_id = %s", key)
        if not indexed:
            yield f"{key}: nothing of it is recalled"


def send_long_turn(ring: Ring, key: str) -> None:
    """A turn of so many messages that a summary is due."""
    messages = [message for number in range(1, 5) for message in dialogue(number, key)]
    with ring.platform.through(ring.client):
        ring.platform.send_until_accepted(key, f"{key}-1", messages)


def faults_of_session(ring: Ring, key: str) -> Iterator[str]:
    """What every session must keep: its turns are there once, its work has ended, its calls are counted."""
    platform = ring.platform
    found = find_violations(platform.database_url, platform.log)
    yield from (fault for fault in found if fault.startswith(f"{key}:"))
    yield from find_uncounted(platform.database_url, list(platform.model.requests), [key])
    for kind, state, error in platform.rows(OPEN_OR_DEAD, key):
        yield f"{key}: its {kind} is {state}: {error}"


OPEN_OR_DEAD = "select kind, state, last_error from due_work where key = %s and state <> 'idle'"
