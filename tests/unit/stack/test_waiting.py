"""A stop signal ends a sleep, even one that it came too early to interrupt."""

import os
import signal
import threading
import time

import pytest

from afterturn.progress import Stopped, stop_signals
from afterturn.stack.stack import LONGEST_SLEEP_S, signals_held, wait_readable


def test_a_signal_that_does_not_interrupt_the_sleep_ends_it_all_the_same() -> None:
    """Another thread takes it, as when it comes between the last look for signals and the sleep."""
    read, write = os.pipe()
    others = threading.Thread(target=_signal_this_process)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        with stop_signals():
            others.start()
            begun = time.monotonic()
            with signals_held(), pytest.raises(Stopped):
                wait_readable(read, 60.0)
            assert time.monotonic() - begun < 30.0
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        others.join()
        os.close(read)
        os.close(write)


def _signal_this_process() -> None:
    """Once the main thread is asleep, and where only this thread takes signals."""
    time.sleep(LONGEST_SLEEP_S / 2)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)


@pytest.mark.parametrize("timeout_s", [0.0, LONGEST_SLEEP_S / 10, LONGEST_SLEEP_S * 1.5])
def test_nothing_to_read_is_said_after_the_time_that_was_given(timeout_s: float) -> None:
    read, write = os.pipe()
    begun = time.monotonic()
    assert not wait_readable(read, timeout_s)
    assert time.monotonic() - begun >= timeout_s
    os.write(write, b"x")
    assert wait_readable(read, timeout_s)
    os.close(read)
    os.close(write)
