"""Ranking: rare words first, the whole question before a part of it, neighbours before strangers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.selecting import stats_of
from context.recall.ranking import (
    REACH_TOKENS,
    Hit,
    RecallStats,
    find_ranges,
    lift_rest,
    score_passages,
    weigh_terms,
)
from context.recall.selection import rank_passages
from context.text.terms import query_terms
from tests.unit.recall.talk import passages_of

TERMS = ("a", "b", "c")
HITS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(1, 80), st.frozensets(st.sampled_from(TERMS))), max_size=30
).map(
    lambda rows: [
        Hit(sum(g + t for g, t, _ in rows[:i]) + gap, tokens, terms)
        for i, (gap, tokens, terms) in enumerate(rows)
    ]
)
WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.2}


def test_a_rare_term_weighs_more_and_an_unknown_one_nothing() -> None:
    weights = weigh_terms(["often", "rare", "never"], RecallStats(100, {"often": 80, "rare": 2}))
    assert list(weights) == ["rare", "often"]
    assert weights["rare"] > weights["often"]
    assert sum(weights.values()) == pytest.approx(1)


def test_a_passage_with_all_that_is_asked_beats_one_with_a_part() -> None:
    whole, part = score_passages([Hit(0, 50, frozenset("ab")), Hit(9000, 50, frozenset("a"))], WEIGHTS)
    assert whole > part


def test_a_silent_neighbour_beats_a_silent_stranger() -> None:
    hits = [Hit(0, 50, frozenset("a")), Hit(50, 50, frozenset()), Hit(9000, 50, frozenset())]
    _, neighbour, stranger = score_passages(hits, WEIGHTS)
    assert neighbour > stranger


def test_many_places_that_speak_of_it_beat_one_place_alone() -> None:
    crowd = [Hit(n * 50, 50, frozenset("a")) for n in range(5)]
    scores = score_passages([*crowd, Hit(9000, 50, frozenset("a"))], WEIGHTS)
    assert scores[2] > scores[5]


@pytest.mark.parametrize(
    ("crowd", "alone"),
    [("right", "The drawings lie in stair.dxf, older files must go"), ("file", "Only right drawings count.")],
)
def test_a_place_that_repeats_a_word_does_not_hide_the_rest_of_the_question(crowd: str, alone: str) -> None:
    asides = [f"Move the {crowd} pointer of row {n} by one, and then the {crowd} border." for n in range(30)]
    passages = passages_of(alone, *["Nothing was said of it at all, and it rained for hours."] * 40, *asides)
    terms = query_terms("In which file are the right drawings?")
    weights = weigh_terms(terms, stats_of(passages, terms))
    assert alone in {entry.passage.text for entry in rank_passages(passages, weights)[:2]}
    hits = [Hit(one.start, one.tokens, one.terms & weights.keys()) for one in passages]
    found = find_ranges([hit for hit in hits if hit.terms], weights, max_tokens=60)
    assert any(first <= passages[0].start <= last for first, last in found)


@given(HITS)
def test_only_one_passage_is_lifted_and_never_above_the_best(hits: list[Hit]) -> None:
    scores = score_passages(hits, WEIGHTS)
    lifted = lift_rest(scores, [hit.terms for hit in hits], WEIGHTS)
    assert sum(before != after for before, after in zip(scores, lifted, strict=True)) <= 1
    assert max(lifted, default=0) == max(scores, default=0)
    assert all(after >= before for before, after in zip(scores, lifted, strict=True))


def slow_scores(hits: list[Hit]) -> list[float]:
    """The definition, without running sums: every pair of places, every term."""
    scores = []
    for hit in hits:
        around = 0.0
        for term, weight in WEIGHTS.items():
            near = [other for other in hits if term in other.terms]
            mentions = sum(math.exp(-abs(hit.centre - other.centre) / REACH_TOKENS) for other in near)
            around += weight * mentions / (mentions + 4)
        scores.append(around + sum(weight for term, weight in WEIGHTS.items() if term in hit.terms) ** 3)
    return scores


@given(HITS)
def test_the_running_sums_give_what_the_definition_says(hits: list[Hit]) -> None:
    assert score_passages(hits, WEIGHTS) == pytest.approx(slow_scores(hits))


@given(HITS, st.integers(1, 2000))
def test_ranges_are_ordered_apart_bounded_and_hold_the_best_hit(hits: list[Hit], max_tokens: int) -> None:
    ranges = find_ranges(hits, WEIGHTS, max_tokens=max_tokens)
    edges = [edge for found in ranges for edge in found]
    assert edges == sorted(set(edges))
    assert sum(last - first + 1 for first, last in ranges) <= 4 * max_tokens + 1000
    if hits:
        scores = score_passages(hits, WEIGHTS)
        best = max(zip(scores, hits, strict=True), key=lambda pair: (pair[0], pair[1].start))[1]
        assert any(first <= best.start <= last for first, last in ranges)
