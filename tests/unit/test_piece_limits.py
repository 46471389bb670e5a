"""The time that one piece of work may take."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from workers.drain import time_limits


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


def _deaf_in_steps() -> None:
    """The same in a thread, where an error waits for the end of each wait."""
    while True:
        try:
            time.sleep(0.01)
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


def _in_thread(work: Callable[[], None]) -> None:
    """Do work in a thread of its own to its end."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_work_in_threads_is_asked_to_stop_each_at_its_own_time() -> None:
    told: list[str] = []
    goes_on = threading.Event()

    def piece(name: str, soft_s: float) -> None:
        try:
            with time_limits(soft_s=soft_s, hard_s=300, error=TooLongError):
                while not goes_on.wait(0.01):
                    pass
        except TooLongError:
            told.append(name)

    others = [threading.Thread(target=piece, args=(f"patient-{n}", 250)) for n in range(3)]
    for one in others:
        one.start()
    _in_thread(lambda: piece("hasty", 0.05))
    goes_on.set()
    for one in others:
        one.join()
    assert told == ["hasty"]


def test_a_late_error_never_hits_the_next_piece_of_a_thread() -> None:
    """The error is due while the thread waits in C, and the piece has ended before the thread looks."""
    ended: list[int] = []

    def pieces() -> None:
        for number in range(20):
            with suppress(TooLongError), time_limits(soft_s=0.001, hard_s=300, error=TooLongError):
                time.sleep(0.002)
            ended.append(number)

    _in_thread(pieces)
    assert ended == list(range(20))


@pytest.mark.parametrize("work", [_deaf_in_steps, _stuck])
def test_a_process_with_a_piece_that_does_not_stop_is_ended(work: Callable[[], None]) -> None:
    """The earliest hard limit counts, whichever piece began last."""
    pid = os.fork()
    if pid == 0:
        try:
            with time_limits(soft_s=100, hard_s=200, error=TooLongError):
                pass

            def limited(soft_s: float, hard_s: float) -> None:
                with time_limits(soft_s=soft_s, hard_s=hard_s, error=TooLongError):
                    work()

            threads = [threading.Thread(target=limited, args=limits) for limits in ((0.05, 0.4), (50, 100))]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
