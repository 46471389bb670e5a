"""Time decay: a plan's weight halves with each half-life, in exactly additive numbers."""

from functools import lru_cache
from typing import NamedTuple

STEPS = 256
"""Steps of a weight within its half-life; sums of millions of weights are exact in a float."""


class Dated(NamedTuple):
    """The weight of a day: `mantissa * 2 ** octave`.

    Attributes:
        octave: The day's half-life, counted from 1970.
        mantissa: The weight within the half-life, in [1, 2), a multiple of 1/256.
    """

    octave: int
    mantissa: float


@lru_cache(maxsize=4_096)
def date_weight(day: int, half_life_days: float) -> Dated:
    """Weigh a day against a fixed point in time.

    The ratio of two days' weights is the ratio given by decay, at any later time. Decay to a later time
    divides both weights by the same power of two, without changing a digit of a sum. The order of counting
    plans or merging parts of a history makes no difference.

    Args:
        day: In days since 1970.
        half_life_days: Days until a weight is halved, > 0.

    Returns:
        The weight, rounded to less than 0.2 %.
    """
    half_lives = day / half_life_days
    octave = int(half_lives // 1)
    mantissa = round(2 ** (half_lives - octave) * STEPS) / STEPS
    return Dated(octave, mantissa)
