"""Wait for what another process does, instead of sleeping and hoping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TICK_S = 0.02


def wait_until(condition: Callable[[], T], *, within_s: float, what: str | Callable[[], str]) -> T:
    """Ask until the answer is true.

    Args:
        condition: What to ask.
        within_s: How long it may take.
        what: Named in the failure; where it is called, it says how things are then.

    Returns:
        The first true answer.

    Raises:
        AssertionError: It took too long.
    """
    deadline = time.monotonic() + within_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {within_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(TICK_S)
