"""Shares with their confidence intervals."""

import math
from dataclasses import dataclass

_Z = 1.959963984540054
"""Normal quantile of a 95 % interval."""


@dataclass(frozen=True)
class Share:
    """A share with its confidence interval: 0 <= low <= share <= high <= 1."""

    share: float
    low: float
    high: float


def wilson(found: float, of: float, *, z: float = _Z) -> Share | None:
    """Compute a share with its Wilson score interval, valid for small and extreme counts too.

    Args:
        found: Number found, 0 to `of`; a fraction where trials count in parts.
        of: Total number, >= 0.
        z: Normal quantile of the interval, > 0; without one, of 95 %.

    Returns:
        The share; None for a total of 0.

    Raises:
        ValueError: `found` is negative or above `of`.
    """
    if not 0 <= found <= of:
        raise ValueError("a share is of 0 to all")
    if of == 0:
        return None
    share, weight = found / of, z * z / of
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    low = 0.0 if found == 0 else max(middle - half, 0.0)
    high = 1.0 if found == of else min(middle + half, 1.0)
    return Share(share, min(low, share), max(high, share))
