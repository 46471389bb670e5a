"""How fast something grows, read from noisy samples: the median slope, and how sure it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

Z_95 = 1.96
FEWEST = 5
"""Fewer samples say nothing."""


@dataclass(frozen=True)
class Slope:
    """A change per unit of time, with the ends of its 95 % interval.

    Attributes:
        estimate: The median of the slopes between any two samples.
        low: The lower end; minus infinity where there are too few samples.
        high: The upper end; infinity where there are too few.
    """

    estimate: float
    low: float
    high: float


def robust_slope(times: Sequence[float], values: Sequence[float]) -> Slope:
    """Fit a line that a third of wild samples cannot bend (Theil and Sen).

    The interval takes the samples' ranks, so it asks for no distribution of the noise.

    Args:
        times: When each sample was taken, in their order, no two alike.
        values: As many samples.

    Returns:
        The slope in units of `values` per unit of `times`.

    Raises:
        ValueError: There are not as many times as values.
    """
    if len(times) != len(values):
        raise ValueError(f"{len(times)} times for {len(values)} values")
    count = len(times)
    if count < FEWEST:
        return Slope(0.0, -math.inf, math.inf)
    slopes = sorted((values[j] - values[i]) / (times[j] - times[i]) for i, j in combinations(range(count), 2))
    spread = Z_95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    below = max(round((len(slopes) - spread) / 2), 0)
    above = min(round((len(slopes) + spread) / 2), len(slopes) - 1)
    return Slope(median(slopes), slopes[below], slopes[above])
