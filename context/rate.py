"""How often something may happen: a bucket that fills steadily, kept as the moment when it is full again."""

from dataclasses import dataclass

ROUNDING_S = 1e-6
"""Times are sums of intervals: less than this is no time."""


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
        """The time in which room for one more grows."""
        return 1 / self.per_s

    @property
    def capacity_s(self) -> float:
        """The time in which an empty bucket fills."""
        return self.burst * self.interval_s


def take(full_at_s: float, now_s: float, rate: Rate) -> tuple[float, float]:
    """Take one out of a bucket, where there is one.

    Args:
        full_at_s: When the bucket is full again; anything in the past for one that is.
        now_s: The present, on the same clock.
        rate: The limit.

    Returns:
        When it is full from now on, and after how many seconds one can be taken: 0 where one was, and
        then the first number has grown; else above 0, and nothing was taken.
    """
    after = max(full_at_s, now_s) + rate.interval_s
    wait_s = after - rate.capacity_s - now_s
    if wait_s <= ROUNDING_S:
        return after, 0.0
    return full_at_s, wait_s
