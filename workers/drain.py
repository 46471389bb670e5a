"""A drain: a woken place of a process takes due pieces of the served queues in turn, each within time limits.

A bell wakes one place. A place that finds a piece wakes the next place, and a place that finds nothing ends.
With every place busy, a bell waits for a free place: further bells stay in the broker for other processes.

Celery's own limits hold for a task, and a task here is a drain of many pieces, or wakes a place for them.
"""

import ctypes
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import FrameType

import structlog

from models.database_errors import facts_of
from models.due_work.fair_claim import Next
from models.due_work.kinds import WorkKind, WorkQueue
from models.due_work.queue import Claim
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
        ticked: Time of the last tick without beat, by the clock of this process.
        may_end: Function that tells whether a fresh process could take the place of this one.
    """

    pieces: int = 0
    found_nothing_at: datetime | None = None
    then: float = 0.0
    ticked: float = 0.0
    may_end: Callable[[], bool] = lambda: True

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
        return self.pieces >= PIECES_OF_A_PROCESS and self.may_end()


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


@contextmanager
def time_limits(*, soft_s: float, hard_s: float, error: type[Exception]) -> Iterator[None]:
    """Raise an error in the work after a time; end the process if the work goes on all the same.

    Pieces in threads may run at once. A piece in the main thread runs alone.

    Args:
        soft_s: Seconds until the error is raised in this thread. In a thread other than the main thread a
            wait in C ends first: every such wait has an end of its own.
        hard_s: Seconds until the process ends, even with no line of Python running any more.
        error: Class of the raised error.
    """
    if threading.current_thread() is not threading.main_thread():
        with _limits_of(os.getpid()).limit(soft_s=soft_s, hard_s=hard_s, error=error):
            yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, soft_s)
    _end_process_after(hard_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _end_process_after(seconds: float) -> None:
    """End the process after a time, by a C thread that needs no interpreter lock and prints no traceback."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=_nowhere(os.getpid()))


@cache
def _nowhere(_pid: int) -> int:
    return os.open(os.devnull, os.O_WRONLY)


@dataclass(eq=False)
class _Limit:
    """Limits of a running piece, by the monotonic clock.

    Attributes:
        thread: Thread that does the piece.
        soft_at: Time of the error in the thread.
        hard_at: Time of the end of the process.
        error: Class of the error.
        is_told: True once the error was raised.
    """

    thread: int
    soft_at: float
    hard_at: float
    error: type[Exception]
    is_told: bool = False


class _PieceLimits:
    """Time limits of the pieces that run in threads of a process, at most one piece a thread."""

    def __init__(self) -> None:
        """Start the watching thread at the first piece."""
        self._changed = threading.Condition()
        self._running: list[_Limit] = []
        self._watch: threading.Thread | None = None

    @contextmanager
    def limit(self, *, soft_s: float, hard_s: float, error: type[Exception]) -> Iterator[None]:
        """Limit a piece in this thread, as `time_limits` says."""
        now = time.monotonic()
        mine = _Limit(threading.get_ident(), now + soft_s, now + hard_s, error)
        self._begin(mine)
        try:
            try:
                yield
            finally:
                self._end(mine)
        except error:  # it may come at any line, those of the end too
            self._end(mine)
            raise

    def _begin(self, limit: _Limit) -> None:
        with self._changed:
            if self._watch is None:
                self._watch = threading.Thread(target=self._run, name="piece-limits", daemon=True)
                self._watch.start()
            self._running.append(limit)
            self._arm()
            self._changed.notify()

    def _end(self, limit: _Limit) -> None:
        with self._changed:
            if limit in self._running:
                self._running.remove(limit)
                self._arm()
            if limit.is_told:
                _raise_in(
                    limit.thread, None
                )  # an error that did not come in time must not hit the next piece

    def _arm(self) -> None:
        """End the process at the earliest hard limit."""
        if self._running:
            left_s = min(limit.hard_at for limit in self._running) - time.monotonic()
            _end_process_after(max(left_s, 0.001))
        else:
            faulthandler.cancel_dump_traceback_later()

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                waiting = [limit for limit in self._running if not limit.is_told]
                for limit in waiting:
                    if limit.soft_at <= now:
                        limit.is_told = True
                        _raise_in(limit.thread, limit.error)
                left = [limit.soft_at - now for limit in waiting if not limit.is_told]
                self._changed.wait(min(left) if left else None)


def _raise_in(thread: int, error: type[Exception] | None) -> None:
    raised = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


@cache
def _limits_of(_pid: int) -> _PieceLimits:
    return _PieceLimits()
