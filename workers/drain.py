"""A drain: a woken place of a process takes due pieces of the served queues in turn.

A bell wakes one place. A place that finds a piece wakes the next place, and a place that finds nothing ends.
With every place busy, a bell waits for a free place: further bells stay in the broker for other processes.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog

from models.due_work.fair_claim import Next
from models.due_work.kinds import WorkKind, WorkQueue
from models.due_work.queue import Claim
from models.errors import facts_of
from workers.settings import WorkerSettings

WAITING_QUEUES = frozenset({WorkQueue.SUMMARIES, WorkQueue.ARTIFACTS, WorkQueue.PLANS})
"""Queues of work that mostly waits for a model: a process does many pieces of it at once."""


@dataclass(frozen=True)
class Served:
    """Work of a worker on some queues.

    Attributes:
        kinds: Kinds of work of the queues.
        isolated: True to take also work with a killed worker.
        only_waits: True when every queue holds work that mostly waits for a model.
    """

    kinds: tuple[WorkKind, ...]
    isolated: bool
    only_waits: bool


def served_by(queues: Iterable[str]) -> Served:
    """Return the work of some queues."""
    named = frozenset(queues)
    return Served(
        tuple(kind for kind in WorkKind if kind.queue in named),
        isolated=WorkQueue.ISOLATION in named,
        only_waits=named <= WAITING_QUEUES,
    )


log = structlog.get_logger()

LOOK_S = 0.5
"""Seconds between checks for a stop while a bell waits for a free place."""

WakeNext = Callable[[], None]
"""Function that wakes one more place, if one is free."""


class Places:
    """Places for a bounded number of pieces of work at once."""

    def __init__(self, most: int, serve: Callable[[WakeNext], None], *, is_over: Callable[[], bool]) -> None:
        """Start without a busy place.

        Args:
            most: Most busy places, >= 1.
            serve: Function that a place runs: it takes and does pieces until nothing is due, and calls its
                argument once for each piece that it takes.
            is_over: Function that tells whether no new piece may be taken.
        """
        self._most = most
        self._serve = serve
        self._is_over = is_over
        self._changed = threading.Condition()
        self._busy = 0

    @property
    def busy(self) -> int:
        """Number of busy places."""
        with self._changed:
            return self._busy

    def wake(self) -> bool:
        """Wake a place; wait for a free one. Returns False when no new piece may be taken."""
        with self._changed:
            while not self._is_over():
                if self._busy < self._most:
                    self._start()
                    return True
                self._changed.wait(LOOK_S)
        return False

    def wait(self, timeout_s: float) -> bool:
        """Wait until no place is busy. Returns False when the time is over first."""
        with self._changed:
            return self._changed.wait_for(lambda: self._busy == 0, timeout_s)

    def _wake_next(self) -> None:
        with self._changed:
            if self._busy < self._most and not self._is_over():
                self._start()

    def _start(self) -> None:
        threading.Thread(target=self._run, name=f"place-{time.monotonic_ns()}", daemon=True).start()
        self._busy += 1

    def _run(self) -> None:
        try:
            self._serve(self._wake_next)
        except Exception as error:  # noqa: BLE001 (a bell starts the place anew; the lease brings the piece back)
            log.warning("place_ended", **facts_of(error))
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()


_closed = threading.Event()
_opened: list[Places] = []


def open_places(most: int, serve: Callable[[WakeNext], None], *, is_over: Callable[[], bool]) -> Places:
    """Open places that end with this process; arguments as of `Places`."""
    places = Places(most, serve, is_over=is_over)
    _opened.append(places)
    return places


def is_closed() -> bool:
    """Tell whether the places of this process take nothing more."""
    return _closed.is_set()


def end_places(timeout_s: float) -> bool:
    """Take nothing more, and wait for the pieces in threads. Returns False when the time is over first."""
    _closed.set()
    return all(places.wait(timeout_s) for places in _opened)


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
