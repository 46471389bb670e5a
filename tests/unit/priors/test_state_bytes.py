from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.priors.state import State, learn, see_catalog, state_from_bytes, state_to_bytes
from context.priors.types import CorruptPriorsError, JoinedPlan
from tests.unit.priors.plans import DAY, any_plan, counted, history, numbers_of

BYTES = state_to_bytes(counted(history(2)))


@given(st.lists(any_plan, max_size=20), st.lists(any_plan, max_size=20))
def test_counting_goes_on_from_bytes_as_if_it_had_never_stopped(
    before: list[JoinedPlan], after: list[JoinedPlan]
) -> None:
    stopped = state_from_bytes(state_to_bytes(counted(before)))
    learn(stopped, after)
    assert numbers_of(stopped) == numbers_of(counted([*before, *after]))


def test_the_roster_comes_back() -> None:
    state = counted(history(1))
    see_catalog(state, {"mail": DAY, "young": DAY + 3})
    assert state_from_bytes(state_to_bytes(state)).roster == {"mail": None, "young": DAY + 3}


@given(st.integers(0, len(BYTES) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(BYTES)
    damaged[place] ^= change
    with pytest.raises(CorruptPriorsError):
        state_from_bytes(bytes(damaged))


@pytest.mark.parametrize(
    "broken",
    [
        State(names=["a", "a"], tool_good=[1.0, 1.0], tool_bad=[0.0, 0.0]),
        State(names=["a"], tool_good=[-1.0], tool_bad=[0.0]),
        State(names=["a"], tool_good=[1.0], tool_bad=[0.0], good={1: 1.0}),
        State(names=["a"], tool_good=[1.0], tool_bad=[0.0], good={1 << 62: 1.0}),
        State(half_life_days=-1.0),
        State(days={DAY: float("nan")}),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(broken: State) -> None:
    with pytest.raises(CorruptPriorsError):
        state_from_bytes(state_to_bytes(broken))


def test_bytes_hold_no_more_than_counts() -> None:
    same = replace(counted(history(2)), _numbers={})
    assert state_to_bytes(same) == BYTES
