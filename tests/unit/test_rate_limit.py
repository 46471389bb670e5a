"""Buckets: never more than a burst at once, never more than the rate in the long run, never too strict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tenants.rate_limit import Rate, take

rates = st.builds(Rate, st.floats(0.1, 1_000), st.integers(1, 50))
pauses = st.lists(st.floats(0, 2), max_size=60)


def taken_at(rate: Rate, times: list[float]) -> list[float]:
    """When one was taken, by somebody who tries at these times."""
    full_at, taken = 0.0, []
    for now in times:
        full_at, wait_s = take(full_at, now, rate)
        if wait_s == 0:
            taken.append(now)
    return taken


def sums(steps: list[float]) -> list[float]:
    now, times = 1_000.0, []
    for step in steps:
        now += step
        times.append(now)
    return times


@given(rates, pauses)
def test_no_stretch_of_time_sees_more_than_a_burst_and_what_grew_meanwhile(
    rate: Rate, steps: list[float]
) -> None:
    taken = taken_at(rate, sums(steps))
    for first, begins in enumerate(taken):
        for last in range(first, len(taken)):
            assert last - first + 1 <= rate.burst + (taken[last] - begins) * rate.per_s + 0.01


@given(rates, pauses)
def test_who_waits_as_long_as_told_is_let_through(rate: Rate, steps: list[float]) -> None:
    full_at = 0.0
    for now in sums(steps):
        full_at, wait_s = take(full_at, now, rate)
        if wait_s > 0:
            assert take(full_at, now + wait_s, rate)[1] == 0


@given(rates, st.floats(0, 1e6))
def test_a_rested_bucket_gives_its_whole_burst_and_not_one_more(rate: Rate, now: float) -> None:
    full_at = 0.0
    for _ in range(rate.burst):
        full_at, wait_s = take(full_at, now, rate)
        assert wait_s == 0
    unchanged, wait_s = take(full_at, now, rate)
    assert wait_s > 0
    assert unchanged == full_at


def test_one_a_second_with_a_burst_of_two() -> None:
    assert taken_at(Rate(1, 2), [10, 10, 10, 10.5, 11, 11, 14, 14, 14]) == [10, 10, 11, 14, 14]


@pytest.mark.parametrize(("per_s", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_rate_that_lets_nothing_through_is_refused(per_s: float, burst: int) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Rate(per_s, burst)
