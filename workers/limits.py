"""Time limits of a piece of work: first asked to stop, then the process is ended.

Celery's own limits hold for a task, and a task here is a drain of many pieces.
"""

import faulthandler
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType


@contextmanager
def time_limits(*, soft_s: float, hard_s: float, error: type[Exception]) -> Iterator[None]:
    """Raise an error in the work after a time; end the process if the work goes on all the same.

    In a thread other than the main thread nothing is limited: no pool of ours works there.

    Args:
        soft_s: Seconds until the error is raised in the main thread.
        hard_s: Seconds until the process ends, even with no line of Python running any more.
        error: Class of the raised error.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, soft_s)
    # A thread in C: it needs no turn of the interpreter. It tells where the process stood, to nobody.
    faulthandler.dump_traceback_later(hard_s, exit=True, file=_nowhere(os.getpid()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


@cache
def _nowhere(_pid: int) -> int:
    return os.open(os.devnull, os.O_WRONLY)
