"""Wait for what another process does, instead of sleeping and hoping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TICK_S = 0.02
LONGEST_TICK_S = 0.25
WAITS_PER_TICK = 20
"""The longer a wait, the seldomer a question: a question often costs a connection, on a busy machine."""


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
    began = time.monotonic()
    while True:
        answer = condition()
        if answer:
            return answer
        waited_s = time.monotonic() - began
        if waited_s >= within_s:
            raise AssertionError(f"not within {within_s:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(min(LONGEST_TICK_S, max(TICK_S, waited_s / WAITS_PER_TICK)))
