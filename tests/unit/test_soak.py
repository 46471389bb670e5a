"""The instruments of the long run: growth under noise, and a reckoning that notices what is lost."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.soak.call import Timed
from benchmarks.soak.oracle import _differences
from benchmarks.soak.promises import Session, digest
from benchmarks.soak.samples import Sample
from benchmarks.soak.slope import robust_slope
from benchmarks.soak.verdict import by_call, growths, percentiles

TURN = {
    "turn_id": "t1",
    "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}],
}
RECEIPT = {"turn_id": "t1", "first_seq": 1, "last_seq": 2, "duplicate": False}


@given(
    slope=st.floats(-100, 100),
    start=st.floats(-1_000, 1_000),
    wild=st.lists(st.tuples(st.integers(0, 29), st.floats(-1e6, 1e6)), max_size=6),
)
def test_a_fifth_of_wild_samples_does_not_bend_the_slope_away(
    slope: float, start: float, wild: list[tuple[int, float]]
) -> None:
    values = [start + slope * at for at in range(30)]
    for place, value in wild:
        values[place] = value
    found = robust_slope([float(at) for at in range(30)], values)
    assert found.low - 1e-6 <= slope <= found.high + 1e-6


def test_too_few_samples_say_nothing() -> None:
    found = robust_slope([1.0, 2.0], [1.0, 9.0])
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_as_many_times_as_values_are_needed() -> None:
    with pytest.raises(ValueError, match="2 times for 1 values"):
        robust_slope([1.0, 2.0], [1.0])


def samples(mb_per_hour: float, *, seconds: int = 600) -> list[Sample]:
    """Looks at a process that grows so fast."""
    return [
        Sample(
            at_s=float(at),
            memory_mb={"api": 2 * (200 + mb_per_hour * at / 3600)},
            processes={"api": 2},
            due=0,
            later=0,
            running=0,
            dead=0,
            age_s=0.0,
            connections=9,
            database_mb=10.0,
            bells=0,
            broker_mb=1.0,
        )
        for at in range(0, seconds, 5)
    ]


@pytest.mark.parametrize(
    ("mb_per_hour", "seconds", "too_much"),
    [(59, 600, False), (61, 600, True), (0, 600, False), (500, 200, False)],
    ids=("below the limit", "above it", "flat", "too short to judge"),
)
def test_growth_is_a_fault_only_where_it_is_sure(mb_per_hour: float, seconds: int, *, too_much: bool) -> None:
    looked = samples(mb_per_hour, seconds=seconds)
    [api] = [
        one
        for one in growths(looked, most_mb_per_hour=60, most_age_s_per_hour=10)
        if one.what == "api, MB a process"
    ]
    assert api.is_too_much is too_much


def test_a_late_call_counts_from_when_it_was_due() -> None:
    assert by_call([Timed("turn", 0, late_ms=30, took_ms=12)]) == {"turn": [42]}


@given(st.lists(st.integers(0, 10**6), max_size=50))
def test_percentiles_stand_in_their_order(values: list[int]) -> None:
    found = percentiles(values)
    assert found.p50 <= found.p95 <= found.p99
    assert found.count == len(values)


def session() -> Session:
    """A session with one acknowledged turn of two messages."""
    made = Session("s", "u", wanted=9)
    assert made.keep(TURN, RECEIPT) is None
    return made


@pytest.mark.parametrize(
    ("receipt", "fault"),
    [
        (RECEIPT, "s: t1 was stored twice"),
        ({**RECEIPT, "duplicate": True, "first_seq": 3, "last_seq": 4}, "s: a duplicate has another place"),
        ({**RECEIPT, "duplicate": True}, None),
    ],
    ids=("twice", "elsewhere", "a right duplicate"),
)
def test_a_second_acknowledgement_must_name_the_same_place(
    receipt: dict[str, Any], fault: str | None
) -> None:
    assert session().keep(TURN, receipt) == fault


def test_two_turns_never_share_a_place() -> None:
    other = {**TURN, "turn_id": "t2"}
    assert session().keep(other, {**RECEIPT, "turn_id": "t2", "first_seq": 2, "last_seq": 3}) is not None


WHOLE = {seq: digest(body) for seq, body in enumerate(TURN["messages"], 1)}


@pytest.mark.parametrize(
    ("found", "turns", "fault"),
    [
        (WHOLE, ["t1"], []),
        ({1: WHOLE[1]}, ["t1"], ["s: lost messages [2]"]),
        ({**WHOLE, 3: "x"}, ["t1"], ["s: messages out of nothing [3]"]),
        ({**WHOLE, 2: "x"}, ["t1"], ["s: other words in messages [2]"]),
        (WHOLE, [], ["s: lost turns ['t1']"]),
        (WHOLE, ["t1", "t9"], ["s: turns that nobody sent ['t9']"]),
    ],
    ids=("whole", "lost", "more", "changed", "no turn", "a strange turn"),
)
def test_the_reckoning_names_every_difference(
    found: dict[int, str], turns: list[str], fault: list[str]
) -> None:
    assert list(_differences(session(), found, turns)) == fault


def test_what_was_erased_or_rewritten_is_not_missed() -> None:
    made = session()
    made.changed({"messages": {"removed": [1], "rewritten": [2]}})
    assert list(_differences(made, {2: "other"}, ["t1"])) == []
