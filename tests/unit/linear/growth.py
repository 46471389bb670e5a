"""Measure how the time of a function grows with its text."""

import gc
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

MOST_GROWTH = 6.0
"""A text of four times the length takes at most so many times the CPU of the thread."""
LEAST_S = 0.020
"""Shorter runs tell of nothing but the clock."""
_TRIES = 5
_MEASURES = 2
_HOPELESS_S = 1.5
_FOUR = 4
_START_CHARS = 1_000
_QUICK_CHARS = 16_000
_QUICK_SURE_S = 0.001

Reader = Callable[[str], object]
Read = TypeVar("Read")


def growth_of(
    read: Callable[[Read], object],
    text_of: Callable[[int], Read],
    *,
    most_chars: int,
    sure_s: float = LEAST_S,
) -> float:
    """Measure how many times longer a function takes for a text of four times the length.

    Args:
        read: The function.
        text_of: Makes a text of about so many characters, or so large a thing of another kind; one character
            more or less makes another text, so that no cache answers.
        most_chars: No longer text is tried.
        sure_s: A run of this length whose growth is in order is believed, without longer ones.

    Returns:
        The least growth that was seen; 1.0 where no text made it run for `LEAST_S`. Too large a growth is
        measured again from the start, because one pause of the machine looks like it: of a function that is
        slow every measure is.
    """
    return min(
        _until_in_order(
            _measure(read, text_of, _START_CHARS + place, most_chars, sure_s) for place in range(_MEASURES)
        )
    )


def grows_in_proportion(read: Reader, text_of: Callable[[int], str]) -> bool:
    """Tell quickly whether a text of four times the length takes no more than its share of time.

    Args:
        read: The function.
        text_of: Makes a text of about so many characters.
    """
    return growth_of(read, text_of, most_chars=_QUICK_CHARS, sure_s=_QUICK_SURE_S) <= MOST_GROWTH


def _until_in_order(measures: Iterator[float]) -> Iterator[float]:
    for growth in measures:
        yield growth
        if growth <= MOST_GROWTH:
            return


def _measure(
    read: Callable[[Read], object], text_of: Callable[[int], Read], chars: int, most_chars: int, sure_s: float
) -> float:
    took = _cpu_s(read, text_of(chars))
    while took < LEAST_S and chars < most_chars:
        before, chars = took, chars * _FOUR
        took = _cpu_s(read, text_of(chars))
        if before >= sure_s and took <= before * MOST_GROWTH:
            return took / before
    if took < LEAST_S:
        return 1.0
    if took > _HOPELESS_S:
        return float("inf")
    return _least_growth(read, text_of, chars, took)


def _least_growth(
    read: Callable[[Read], object], text_of: Callable[[int], Read], chars: int, took: float
) -> float:
    short, long = took, float("inf")
    for place in range(_TRIES):
        long = min(long, _cpu_s(read, text_of(chars * _FOUR - place)))
        if long <= short * MOST_GROWTH:
            break
        short = min(short, _cpu_s(read, text_of(chars - place - 1)))
    return long / short


def _cpu_s(read: Callable[[Read], object], text: Read) -> float:
    """Count the CPU of this thread alone, without the collector, whose time is that of the whole heap."""
    gc.disable()
    start = time.thread_time()
    try:
        answer = read(text)
        if isinstance(answer, Iterator):
            deque(answer, 0)
    except Exception:  # noqa: BLE001, S110 - to refuse a text is an answer too
        pass
    finally:
        took = time.thread_time() - start
        gc.enable()
    return took
