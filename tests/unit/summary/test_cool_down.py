"""How long a session rests after refused summaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.summary.trigger import cool_down_s


def test_each_refusal_doubles_the_rest() -> None:
    assert [cool_down_s(n, first_s=60, most_s=1_000) for n in range(6)] == [0, 60, 120, 240, 480, 960]


def test_the_rest_is_bounded() -> None:
    assert cool_down_s(10**9, first_s=60, most_s=86_400) == 86_400


@given(st.integers(0, 200), st.floats(0, 1e4), st.floats(0, 1e6))
def test_it_never_shrinks_and_never_exceeds_its_bound(refusals: int, first_s: float, more_s: float) -> None:
    rests = [cool_down_s(n, first_s=first_s, most_s=first_s + more_s) for n in (refusals, refusals + 1)]
    assert rests[0] <= rests[1] <= first_s + more_s


@pytest.mark.parametrize(("refusals", "first_s", "most_s"), [(-1, 1, 2), (1, 3, 2), (1, -1, 2)])
def test_what_makes_no_sense_is_refused(refusals: int, first_s: float, most_s: float) -> None:
    with pytest.raises(ValueError, match="no sense"):
        cool_down_s(refusals, first_s=first_s, most_s=most_s)
