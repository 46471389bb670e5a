"""Time limits of a piece of work: first asked to stop, then the process is ended.

Celery's own limits hold for a task, and a task here is a drain of many pieces, or wakes a place for them.
"""

import ctypes
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import FrameType


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
    """End the process by a thread in C: it needs no turn of the interpreter. It tells its place to nobody."""
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
