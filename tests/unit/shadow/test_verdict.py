"""The verdict on a part: shares with their intervals, and no switch on what is not sure."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.shadow.verdict import (
    EVERY_PART,
    TOGETHER,
    PartCounts,
    ShadowLimits,
    ShadowPart,
    applied_beside,
    read_parts,
    report_part,
    trials,
)
from context.types import wilson

GOOD = PartCounts(
    "summaries", reads=400, judged=400, sessions=40, served_tokens=1_000, would_tokens=500, needed=400, lost=4
)
LIMITS = ShadowLimits(min_reads=200, min_saving=0.05, max_lost=0.05, max_blocked=0.02)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_an_interval_holds_its_share_and_stays_in_bounds(one: int, more: int) -> None:
    share = wilson(one, one + more)
    if share is None:
        assert one + more == 0
    else:
        assert 0 <= share.low <= share.share <= share.high <= 1


@given(st.integers(1, 1_000), st.integers(2, 20))
def test_more_of_the_same_makes_an_interval_narrower(of: int, times: int) -> None:
    few, many = wilson(of // 2, of), wilson(of // 2 * times, of * times)
    assert few is not None
    assert many is not None
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize(
    ("found", "of", "low", "high"), [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0)]
)
def test_an_interval_is_the_published_one(found: int, of: int, low: float, high: float) -> None:
    share = wilson(found, of)
    assert share is not None
    assert [share.low, share.high] == pytest.approx([low, high], abs=1e-4)


@pytest.mark.parametrize(("found", "of"), [(-1, 3), (4, 3)])
def test_a_share_of_more_than_all_is_refused(found: int, of: int) -> None:
    with pytest.raises(ValueError, match="0 to all"):
        wilson(found, of)


def test_a_part_that_saves_and_loses_little_is_switched_on() -> None:
    report = report_part(GOOD, LIMITS)
    assert (report.ready, report.verdict) == (True, "switch on")


@pytest.mark.parametrize(("judged", "ready"), [(199, False), (200, True), (201, True)])
def test_reads_are_enough_from_the_limit_on(judged: int, ready: bool) -> None:
    report = report_part(replace(GOOD, judged=judged), LIMITS)
    assert report.ready is ready
    assert ready or report.verdict == f"not enough reads: {judged} of 200"


@pytest.mark.parametrize(("would", "ready"), [(940, True), (950, True), (951, False), (1_100, False)])
def test_a_part_that_saves_less_than_the_limit_stays_off(would: int, ready: bool) -> None:
    assert report_part(replace(GOOD, would_tokens=would), LIMITS).ready is ready


def test_a_loss_that_may_be_too_large_asks_for_more_reads() -> None:
    report = report_part(replace(GOOD, needed=20, lost=0), LIMITS)
    assert not report.ready
    assert report.verdict.startswith("not yet: up to 16.1 % of the facts needed are lost")


def test_a_loss_that_is_too_large_says_how_large() -> None:
    report = report_part(replace(GOOD, lost=80), LIMITS)
    assert report.verdict == "not yet: 20.0 % of the facts needed are lost, more than 5.0 %"


def test_a_part_of_which_nothing_was_needed_proves_nothing() -> None:
    assert (
        report_part(replace(GOOD, needed=0, lost=0), LIMITS).verdict == "not yet: no fact was needed so far"
    )


def test_tools_are_judged_by_calls_and_not_by_facts() -> None:
    tools = replace(GOOD, part="filtering", needed=0, lost=0, calls=1_000, blocked=5)
    assert report_part(tools, LIMITS).ready
    assert not report_part(replace(tools, blocked=60), LIMITS).ready


def test_planted_facts_that_are_lost_keep_a_part_off() -> None:
    report = report_part(replace(GOOD, planted=12, planted_lost=3), LIMITS)
    assert report.verdict == "not yet: 25.0 % of the planted facts are lost"


@given(st.frozensets(st.sampled_from(ShadowPart)))
def test_each_part_is_tried_alone_and_all_of_them_together(shadowed: frozenset[ShadowPart]) -> None:
    tried = trials(shadowed)
    assert {name for name in tried if name != TOGETHER} == set(map(str, shadowed))
    assert (TOGETHER in tried) == (len(shadowed) > 1)
    for part in shadowed:
        assert tried[part] - applied_beside(shadowed) == {part}


def test_a_part_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    assert read_parts(["all"]) == EVERY_PART
    assert read_parts(["catalog"]) == {ShadowPart.CATALOG}
    with pytest.raises(ValueError, match="summaries, filtering, catalog, extracts, all"):
        read_parts(["summary"])
