"""Places of a process: threads at which pieces of work wait for models at the same time.

A bell wakes one place. A place that finds a piece wakes the next place, and a place that finds nothing ends.
With every place busy, a bell waits for a free place: further bells stay in the broker for other processes.
"""

import threading
import time
from collections.abc import Callable

import structlog

from models.errors import facts_of

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
