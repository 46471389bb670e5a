"""Rate limit: a bucket that fills steadily, stored as the moment of the next full bucket."""

from dataclasses import dataclass

ROUNDING_S = 1e-6
"""Smallest difference of times that counts, since times are sums of intervals."""


@dataclass(frozen=True)
class Rate:
    """A limit.

    Attributes:
        per_s: How many a second in the long run, > 0.
        burst: How many at once after a rest, >= 1.
    """

    per_s: float
    burst: int

    def __post_init__(self) -> None:
        if self.per_s <= 0 or self.burst < 1:
            raise ValueError("a rate is above 0 a second, and a burst at least 1")

    @property
    def interval_s(self) -> float:
        """Seconds until the bucket grows by one."""
        return 1 / self.per_s

    @property
    def capacity_s(self) -> float:
        """Seconds until an empty bucket is full."""
        return self.burst * self.interval_s


def take(full_at_s: float, now_s: float, rate: Rate) -> tuple[float, float]:
    """Take one from a bucket, if available.

    Args:
        full_at_s: The time of the full bucket; any past time for a full bucket.
        now_s: The present, on the same clock.
        rate: The limit.

    Returns:
        The new time of the full bucket, and the seconds to wait. A wait of 0 means success, and the first
        number has grown; a wait above 0 means nothing was taken.
    """
    after = max(full_at_s, now_s) + rate.interval_s
    wait_s = after - rate.capacity_s - now_s
    if wait_s <= ROUNDING_S:
        return after, 0.0
    return full_at_s, wait_s
