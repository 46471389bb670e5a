"""The window of a session: smaller requests change it only where they are all that come."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from context.providers.model_windows import NARROW_READS, UsualWindow

windows = st.lists(st.sampled_from((2, 4_000, 8_000, 32_000, 128_000)), min_size=1, max_size=12)


def after(named: list[int]) -> UsualWindow:
    return reduce(UsualWindow.after, named, UsualWindow())


@given(windows)
def test_it_is_one_of_the_last_requests_and_no_smaller_than_the_newest(named: list[int]) -> None:
    usual = after(named)
    assert usual.tokens is not None
    assert usual.tokens >= named[-1]
    assert usual.tokens in named
    assert 0 <= usual.narrow_reads < NARROW_READS
    assert (usual.narrow_tokens is None) == (usual.narrow_reads == 0)


@given(windows, st.integers(1, NARROW_READS - 1))
def test_a_few_smaller_requests_leave_it_and_one_like_before_forgets_them(named: list[int], few: int) -> None:
    usual = UsualWindow(after(named).tokens)
    narrowed = reduce(UsualWindow.after, [1] * few, usual)
    assert narrowed.tokens == usual.tokens
    assert narrowed.after(usual.tokens or 0) == usual


def test_as_many_smaller_ones_as_say_so_make_the_largest_of_them_the_usual_one() -> None:
    assert after([128_000, 4_000, 8_000, 2_000]) == UsualWindow(8_000)
