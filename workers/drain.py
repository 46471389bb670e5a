"""A drain: a worker that heard a bell takes one piece of due work after another, until nothing is due."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from models.due import Next
from models.work import Claim
from workers.settings import WorkerSettings

SETTLED_S = 1.0
"""For so long a worker that found nothing due believes it, whatever bells say that are older."""

PIECES_OF_A_PROCESS = 500
"""What a library leaks goes with its process after so many pieces of work; bells do not count."""


@dataclass
class Ear:
    """What one process remembers of its looks, so that a bell that tells nothing new costs no look.

    Attributes:
        pieces: How many pieces of work this process has done.
        found_nothing_at: When it last found nothing due, by the database's clock.
        then: The same moment by the clock of this process.
    """

    pieces: int = 0
    found_nothing_at: datetime | None = None
    then: float = 0.0

    def is_news(self, rung_at: datetime | None) -> bool:
        """Whether a bell may tell of something that the last look did not see.

        Args:
            rung_at: When something was due, by the database's clock; None where the bell does not say.
        """
        if self.found_nothing_at is None or time.monotonic() - self.then >= SETTLED_S:
            return True
        return rung_at is not None and rung_at > self.found_nothing_at

    def note_nothing(self, at: datetime) -> None:
        """Remember that nothing was due."""
        self.found_nothing_at, self.then = at, time.monotonic()

    @property
    def is_spent(self) -> bool:
        """Whether this process should make room for a fresh one."""
        return self.pieces >= PIECES_OF_A_PROCESS


@dataclass(frozen=True)
class Drained:
    """What came of a drain.

    Attributes:
        pieces: How many pieces of work were done.
        at: The time of the last look, by the database's clock; None where there was none.
        more: Whether something may be left that is due.
    """

    pieces: int
    at: datetime | None
    more: bool


def drain(
    ear: Ear,
    take: Callable[[], Next],
    do: Callable[[Claim], object],
    settings: WorkerSettings,
    *,
    is_over: Callable[[], bool],
) -> Drained:
    """Take and do due work until nothing is due, or until it is time to listen again.

    Args:
        ear: What this process remembers.
        take: Leases the next piece.
        do: Does it.
        settings: How many pieces, and for how long.
        is_over: Whether the worker was asked to stop; asked between two pieces.
    """
    ends = time.monotonic() + settings.drain_s
    pieces, at = 0, None
    while not (is_over() or pieces >= settings.drain_pieces or time.monotonic() >= ends or ear.is_spent):
        found = take()
        at = found.at
        if not found.is_due:
            ear.note_nothing(at)
            return Drained(pieces, at, more=False)
        if found.held is not None:
            pieces += 1
            ear.pieces += 1
            do(found.held)
    return Drained(pieces, at, more=True)
