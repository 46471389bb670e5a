import math
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.priors.prior_set import PriorSet, make_prior_set
from context.priors.score import bind_priors, score_priors
from context.priors.state import see_catalog
from context.priors.types import _HEAD, CorruptPriorsError, JoinedPlan
from tests.unit.priors.plans import DAY, TOOLS, any_plan, counted, history, plan

SET = make_prior_set(counted(history()))
BYTES = SET.to_bytes()


@given(st.lists(any_plan, max_size=30))
def test_a_set_comes_back_from_its_bytes(plans: list[JoinedPlan]) -> None:
    made = make_prior_set(counted(plans))
    data = made.to_bytes()
    again = PriorSet.from_bytes(data)
    assert again.to_bytes() == data
    intent = "rain inbox song"
    assert score_priors(bind_priors(again, TOOLS), intent) == score_priors(bind_priors(made, TOOLS), intent)


@given(st.binary(max_size=200))
def test_bytes_of_something_else_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptPriorsError):
        PriorSet.from_bytes(data)


@given(st.integers(0, len(BYTES) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_noticed(place: int, change: int) -> None:
    damaged = bytearray(BYTES)
    damaged[place] ^= change
    with pytest.raises(CorruptPriorsError):
        PriorSet.from_bytes(bytes(damaged))


@given(st.integers(0, len(BYTES) - 1))
def test_bytes_that_are_cut_off_are_refused(length: int) -> None:
    with pytest.raises(CorruptPriorsError):
        PriorSet.from_bytes(BYTES[:length])


@pytest.mark.parametrize(
    "broken",
    [
        replace(SET, starts=[*SET.starts[:-1], len(SET.tools) + 5]),
        replace(SET, starts=[*SET.starts, len(SET.tools)]),
        replace(SET, tools=[len(SET.names)] * len(SET.tools)),
        replace(SET, features=list(reversed(SET.features))),
        replace(SET, good=[math.nan] * len(SET.names)),
        replace(SET, good=SET.good[:-1]),
        replace(SET, plans=math.inf),
        replace(SET, roster=[2, 1], novelty=[0, 0]),
        replace(SET, roster=[1], novelty=[]),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(broken: PriorSet) -> None:
    with pytest.raises(CorruptPriorsError):
        PriorSet.from_bytes(broken.to_bytes())


def test_bytes_that_would_unpack_without_end_are_refused() -> None:
    bomb = zlib.compress(b"\0" * (300 * 1024 * 1024), 1)
    with pytest.raises(CorruptPriorsError):
        PriorSet.from_bytes(_HEAD.pack(b"APPS", 1, 2, zlib.crc32(bomb, 2)) + bomb)


def test_a_set_holds_no_word_of_an_intent() -> None:
    made = make_prior_set(counted([plan("zebra crossing", "maps") for _ in range(9)] + history()))
    data = made.to_bytes()
    assert b"zebra" not in zlib.decompress(data[_HEAD.size :])


def test_without_plans_there_is_an_empty_set() -> None:
    made = make_prior_set(counted([]))
    assert (made.names, made.plans, len(made.features)) == ((), 0.0, 0)


def test_an_entry_is_the_less_novel_the_more_plans_were_made_since() -> None:
    state = counted([*history(10, day=DAY), *history(10, day=DAY + 5)])
    see_catalog(state, {"old": DAY, "young": DAY + 5, "newest": DAY + 6})
    made = make_prior_set(state)
    old, young, newest = sorted(made.novelty)
    assert (old, newest) == (0, 255)
    assert 0 < young < 128
