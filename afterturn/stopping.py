"""Stop signals of a command with a stack."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class Stopped(BaseException):
    """Request to stop the command; error handlers must not catch the exception."""

    def __init__(self, number: int) -> None:
        """Keep the signal's number."""
        super().__init__(signal.Signals(number).name)
        self.number = number


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    # From here on things are put away: nothing may interrupt that a second time.
    for other in STOP_SIGNALS:
        signal.signal(other, _note)
    raise Stopped(number)


def _note(_number: int, _frame: FrameType | None) -> None:
    """Record the signal and continue."""


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise `Stopped` at Ctrl-C, SIGTERM and SIGHUP, once; ignored signals stay ignored.

    A parent, such as nohup, may have set a signal to be ignored on purpose.
    """
    numbers = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, _raise) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
