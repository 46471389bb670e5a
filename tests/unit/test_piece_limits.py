"""The time that one piece of work may take."""

import os
import signal
import time
from collections.abc import Callable

import pytest

from workers.limits import time_limits


class TooLongError(Exception):
    """What these tests raise."""


def test_work_that_takes_too_long_is_asked_to_stop() -> None:
    with pytest.raises(TooLongError), time_limits(soft_s=0.1, hard_s=300, error=TooLongError):
        time.sleep(60)


def test_a_limit_ends_with_its_piece() -> None:
    before = signal.getsignal(signal.SIGALRM)
    for _ in range(2):
        with time_limits(soft_s=60, hard_s=300, error=TooLongError):
            assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        assert signal.getsignal(signal.SIGALRM) is before


def _deaf() -> None:
    """A loop that is told to stop, and does not listen."""
    while True:
        try:
            time.sleep(60)
        except TooLongError:
            continue


def _stuck() -> None:
    """One call into C that holds the interpreter."""
    sum(range(10**12))


@pytest.mark.parametrize("work", [_deaf, _stuck])
def test_a_process_that_does_not_stop_is_ended(work: Callable[[], None]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            with time_limits(soft_s=0.05, hard_s=0.3, error=TooLongError):
                work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
