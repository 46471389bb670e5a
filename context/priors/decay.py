"""Time decay: a plan counts half as much after each half-life, in numbers that add up exactly."""

from functools import lru_cache
from typing import NamedTuple

STEPS = 256
"""A weight within its half-life has this many steps: sums of millions of them are exact in a float."""


class Dated(NamedTuple):
    """The weight of a day: `mantissa * 2 ** octave`.

    Attributes:
        octave: The day's half-life, counted from 1970.
        mantissa: The weight within it, in [1, 2), a multiple of 1/256.
    """

    octave: int
    mantissa: float


@lru_cache(maxsize=4_096)
def date_weight(day: int, half_life_days: float) -> Dated:
    """Weigh a day against a fixed point in time.

    Two days' weights have the ratio that decay gives them, whenever they are looked at. To look at them
    from a later time is to divide both by the same power of two, which changes no digit of a sum: so the
    order in which plans are counted, or parts of a history are merged, makes no difference.

    Args:
        day: In days since 1970.
        half_life_days: After which a weight is half, > 0.

    Returns:
        The weight, rounded to less than 0.2 %.
    """
    half_lives = day / half_life_days
    octave = int(half_lives // 1)
    mantissa = round(2 ** (half_lives - octave) * STEPS) / STEPS
    return Dated(octave, mantissa)
