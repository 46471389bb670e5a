import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.priors.evaluate import Change, Quality, find_changes, grade_rankings, judge_set, measure_drift
from context.priors.types import JoinedPlan
from tests.unit.priors.plans import DAY, TOOLS, plan, went

CATALOG = frozenset(TOOLS)
rankings = st.lists(st.permutations(TOOLS), max_size=8)


def quality(at_1: float, at_5: float, plans: int = 100) -> Quality:
    return Quality(plans, at_1, at_5)


def test_recall_is_the_share_of_a_plans_tools_among_the_first() -> None:
    asked = [JoinedPlan("", [went("mail"), went("maps")], DAY), plan("", "bank")]
    found = grade_rankings(asked, [["mail", "x", "y", "z", "maps"], ["news", "bank"]], CATALOG)
    assert (found.recall_at_1, found.recall_at_5) == (0.25, 1.0)


def test_a_tool_that_failed_is_not_what_should_stand_first() -> None:
    asked = [JoinedPlan("", [went("mail", ok=False), went("maps")], DAY)]
    assert grade_rankings(asked, [["maps"]], CATALOG).recall_at_1 == 1.0


def test_plans_without_a_tool_of_the_catalog_are_passed_over() -> None:
    asked = [plan("", "gone"), plan("", "mail", ok=False), plan("", "mail")]
    assert grade_rankings(asked, [["mail"]] * 3, CATALOG).plans == 1


def test_nothing_to_grade_is_no_quality() -> None:
    assert grade_rankings([], [], CATALOG) == Quality()


@pytest.mark.parametrize(
    ("candidate", "lexical", "active", "better", "why"),
    [
        (quality(0.6, 0.9), quality(0.4, 0.7), None, True, "better than words alone"),
        (quality(0.6, 0.9), quality(0.4, 0.7), quality(0.5, 0.9), True, "better than the set in force"),
        (quality(0.4, 0.7), quality(0.4, 0.7), None, False, "no better than words alone"),
        (quality(0.9, 0.6), quality(0.4, 0.7), None, False, "loses tools that words alone find"),
        (quality(0.6, 0.9), quality(0.4, 0.7), quality(0.6, 0.9), False, "no better than the set in force"),
        (quality(0.6, 0.9, plans=5), quality(0.4, 0.7, plans=5), None, False, "prove nothing"),
    ],
)
def test_a_set_takes_effect_only_where_it_is_better(
    candidate: Quality, lexical: Quality, active: Quality | None, better: bool, why: str
) -> None:
    verdict = judge_set(candidate, lexical, active, least_plans=10)
    assert verdict.is_better is better
    assert why in verdict.reason


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_set_that_scores_below_words_never_takes_effect(a: float, b: float, c: float, d: float) -> None:
    candidate, lexical = quality(a, b), quality(c, d)
    if judge_set(candidate, lexical, None, least_plans=1).is_better:
        assert candidate.score > lexical.score
        assert candidate.recall_at_5 >= lexical.recall_at_5 - 1e-6


@given(rankings)
def test_rankings_have_not_drifted_from_themselves(found: list[list[str]]) -> None:
    assert measure_drift(found, found) == 0.0


@given(rankings)
def test_drift_is_a_share(found: list[list[str]]) -> None:
    assert 0.0 <= measure_drift(found, [list(reversed(one)) for one in found]) <= 1.0


def test_rankings_of_other_entries_have_drifted_all_the_way() -> None:
    assert measure_drift([["a", "b"]], [["c", "d"]]) == 1.0


def test_changes_name_what_rose_and_what_fell_and_leave_out_what_stayed() -> None:
    asked = [
        JoinedPlan("rises", [went("mail")], DAY),
        JoinedPlan("falls", [went("maps"), went("mail", ok=False)], DAY),
        JoinedPlan("stays", [went("bank")], DAY),
        JoinedPlan("not of the catalog", [went("gone")], DAY),
    ]
    before = [["x", "mail"], ["maps", "mail"], ["bank"], ["gone"]]
    after = [["mail"], ["a", "b", "c", "d", "e", "maps"], ["bank", "x"], []]
    assert find_changes(asked, before, after, CATALOG) == [
        Change("rises", "mail", 2, 1),
        Change("falls", "maps", 1, None),
    ]


@given(rankings, rankings, st.lists(st.sampled_from(TOOLS), max_size=8))
def test_changes_the_other_way_round_are_the_same_with_the_other_sign(
    before: list[list[str]], after: list[list[str]], tools: list[str]
) -> None:
    size = min(len(before), len(after), len(tools))
    asked = [plan("", tool) for tool in tools[:size]]
    there = find_changes(asked, before[:size], after[:size], CATALOG)
    back = find_changes(asked, after[:size], before[:size], CATALOG)
    assert sorted((one.tool, one.gain) for one in there) == sorted((one.tool, -one.gain) for one in back)
