"""Canaries: who is served, how sure outcomes are, and what they decide."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.priors.canary import ArmCounts, CanaryEnd, CanaryRules, compare_arms, is_served, judge_canary

RULES = CanaryRules(least_sessions=50, margin=0.02, looks=14)


def arm(sessions: Iterable[tuple[int, int]]) -> ArmCounts:
    """Counts of sessions, each with its plans and the plans that went well."""
    pairs = list(sessions)
    return ArmCounts(
        sessions=len(pairs),
        plans=sum(plans for plans, _ in pairs),
        well=sum(well for _, well in pairs),
        well_squares=sum(well * well for _, well in pairs),
        cross=sum(plans * well for plans, well in pairs),
        plan_squares=sum(plans * plans for plans, _ in pairs),
    )


def alone(well: int, of: int) -> ArmCounts:
    """Counts of sessions with one plan each."""
    return arm([(1, 1)] * well + [(1, 0)] * (of - well))


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_a_share_of_nothing_serves_nobody_and_a_whole_share_everybody(unit: str, salt: str) -> None:
    assert not is_served(unit, salt=salt, share=0)
    assert is_served(unit, salt=salt, share=1)


def test_a_session_keeps_its_set_and_a_larger_share_keeps_its_sessions() -> None:
    names = [f"session-{number}" for number in range(4_000)]
    few = {name for name in names if is_served(name, salt="a", share=0.2)}
    many = {name for name in names if is_served(name, salt="a", share=0.5)}
    assert few == {name for name in names if is_served(name, salt="a", share=0.2)}
    assert few < many
    assert len(few) / 4_000 == pytest.approx(0.2, abs=0.03)
    assert len(many) / 4_000 == pytest.approx(0.5, abs=0.03)


def test_another_canary_is_served_to_other_sessions() -> None:
    names = [f"session-{number}" for number in range(2_000)]
    both = sum(
        is_served(name, salt="a", share=0.2) and is_served(name, salt="b", share=0.2) for name in names
    )
    assert both / 2_000 == pytest.approx(0.04, abs=0.02)


def test_plans_of_one_session_are_one_proof() -> None:
    single, together = alone(160, 200), arm([(10, 10)] * 16 + [(10, 0)] * 4)
    assert (single.plans, single.well) == (together.plans, together.well)
    assert single.effective_plans == pytest.approx(199, abs=1)
    assert together.effective_plans == pytest.approx(19, abs=1)
    narrow, wide = single.share(), together.share()
    assert narrow is not None
    assert wide is not None
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_sessions_without_a_failure_count_once_each() -> None:
    assert arm([(50, 50)] * 4).effective_plans == 4
    assert arm([(3, 1)] * 6).effective_plans == 6


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), max_size=40))
def test_an_interval_holds_its_share(sessions: list[tuple[int, int]]) -> None:
    counts = arm([(plans, min(plans, well)) for plans, well in sessions])
    assert 0 <= counts.effective_plans <= max(counts.plans, 0)
    share = counts.share()
    assert (share is None) == (not sessions)
    if share:
        assert 0 <= share.low <= share.share <= share.high <= 1
        assert share.share == pytest.approx(counts.well / counts.plans)


def test_the_difference_is_the_published_one() -> None:
    """Newcombe 1998, table II, case (a): 56 of 70 against 48 of 80."""
    found = compare_arms(ArmCounts(70, 70, 56, 56, 56, 70), ArmCounts(80, 80, 48, 48, 48, 80))
    assert found is not None
    assert found.difference == pytest.approx(0.2)
    assert found.low == pytest.approx(0.0524, abs=0.002)
    assert found.high == pytest.approx(0.3339, abs=0.002)


@pytest.mark.parametrize(
    ("new", "old", "end", "reason"),
    [
        (alone(49, 49), alone(100, 200), None, "outcomes of 49 and 200 sessions, 50 of each are needed"),
        (alone(200, 200), alone(10, 49), None, "outcomes of 200 and 49 sessions, 50 of each are needed"),
        (ArmCounts(), alone(200, 200), None, "outcomes of 0 and 200 sessions"),
        (alone(90, 100), alone(60, 100), CanaryEnd.PROMOTED, "more plans went well: 90 of 100 plans"),
        (alone(60, 100), alone(90, 100), CanaryEnd.DROPPED, "fewer plans went well: 60 of 100 plans"),
        (alone(90, 100), alone(90, 100), None, "outcomes do not decide"),
        (alone(9_000, 10_000), alone(9_000, 10_000), CanaryEnd.PROMOTED, "not worse by more than 2.0%"),
        (arm([(100, 90)] * 49), arm([(100, 10)] * 99), None, "50 of each are needed"),
    ],
)
def test_outcomes_decide_only_where_they_are_sure(
    new: ArmCounts, old: ArmCounts, end: CanaryEnd | None, reason: str
) -> None:
    verdict = judge_canary(new, old, RULES, is_over=False)
    assert verdict.end is end
    assert reason in verdict.reason
    over = judge_canary(new, old, RULES, is_over=True)
    assert over.end is (end or CanaryEnd.DROPPED)
    assert over.reason.startswith("the time is over: ") == (end is None)


def test_more_looks_want_more_proof() -> None:
    new, old = alone(93, 100), alone(83, 100)
    once, daily = (judge_canary(new, old, CanaryRules(50, 0.0, looks), is_over=False) for looks in (1, 30))
    assert (once.end, daily.end) == (CanaryEnd.PROMOTED, None)
