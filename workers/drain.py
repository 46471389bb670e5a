"""A drain: a worker woken by a bell takes due pieces of work in turn, until nothing is due."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from models.due_work.fair_claim import Next
from models.due_work.queue import Claim
from workers.settings import WorkerSettings

SETTLED_S = 1.0
"""Seconds for which a worker trusts a look without due work, against older bells."""

PIECES_OF_A_PROCESS = 500
"""Pieces of work until a process ends, to return leaked memory; bells do not count."""


@dataclass
class Ear:
    """Memory of a process' looks, so that a bell without news costs no look.

    Attributes:
        pieces: Number of pieces of work done by this process.
        found_nothing_at: Time of the last look without due work, by the database's clock.
        then: The same moment by the clock of this process.
    """

    pieces: int = 0
    found_nothing_at: datetime | None = None
    then: float = 0.0

    def is_news(self, rung_at: datetime | None) -> bool:
        """Check whether a bell may tell of work unseen by the last look.

        Args:
            rung_at: Time of the due work, by the database's clock; None when the bell has no time.
        """
        if self.found_nothing_at is None or time.monotonic() - self.then >= SETTLED_S:
            return True
        return rung_at is not None and rung_at > self.found_nothing_at

    def note_nothing(self, at: datetime) -> None:
        """Remember a look without due work."""
        self.found_nothing_at, self.then = at, time.monotonic()

    @property
    def is_spent(self) -> bool:
        """True when this process should make room for a fresh process."""
        return self.pieces >= PIECES_OF_A_PROCESS


@dataclass(frozen=True)
class Drained:
    """Result of a drain.

    Attributes:
        pieces: Number of pieces of work done.
        at: Time of the last look, by the database's clock; None without a look.
        more: True if due work may be left.
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
        ear: Memory of this process.
        take: Function that leases the next piece.
        do: Function that does a piece.
        settings: Limits of pieces and time.
        is_over: Function that tells whether the worker was asked to stop; called between two pieces.
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
