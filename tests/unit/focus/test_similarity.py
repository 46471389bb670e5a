"""How near two questions are, and which differences keep them apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.focus import NEAR_THRESHOLD, nearest, normalise, similarity

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("what is the status of my reservation", "tell me my reservation status"),
        ("how is the car's tire pressure", "is my tire pressure okay on my car"),
        ("Summarize the discussion about the experimental setup", "what was said about experimental setups"),
        ("the reasons for the delay in shipping", "why was shipping delayed, for what reasons"),
    ],
)
def test_questions_in_other_words_are_near(one: str, other: str) -> None:
    assert NEAR_THRESHOLD <= similarity(normalise(one), normalise(other)) <= 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("errors of the payment service in March 2023", "errors of the payment service in March 2024"),
        ("which payment providers work in production", "which payment providers do not work in production"),
        (
            "tickets that Alice opened for the depot in Riga",
            "tickets that Boris opened for the depot in Riga",
        ),
        (
            "latency of the search endpoint before the deploy",
            "latency of the search endpoint after the deploy",
        ),
        ("orders shipped from Riga depot", "orders shipped to Riga depot"),
        ("what getUser returns in api.py", "what getUser returns in db.py"),
        ("tell me my name", "tell me your name"),
        ("操作系统支持哪些功能", "操作系统不支持哪些功能"),
        ("operator", "operation"),
    ],
)
def test_a_difference_that_matters_is_never_near(one: str, other: str) -> None:
    assert similarity(normalise(one), normalise(other)) < NEAR_THRESHOLD


def test_the_general_focus_is_near_to_nothing_else() -> None:
    assert similarity(normalise(""), normalise("errors")) == 0
    assert similarity(normalise(""), normalise("what is this?")) == 1


def test_the_nearest_candidate_is_found_with_its_similarity() -> None:
    answered = [normalise(text) for text in ("refund policy", "status of the reservation", "baggage fees")]
    found = nearest(normalise("tell me the reservation status"), answered)
    assert found is not None
    assert found[0] is answered[1]
    assert found[1] >= NEAR_THRESHOLD


def test_none_is_nearest_where_all_are_far() -> None:
    assert nearest(normalise("exchange rates"), [normalise("baggage fees")]) is None
    assert nearest(normalise("exchange rates"), []) is None


def test_the_same_question_is_nearest_of_all() -> None:
    same = normalise("the BAGGAGE fee")
    found = nearest(normalise("baggage fees"), [normalise("baggage fees today"), same])
    assert found == (same, 1.0)


RELATED = st.lists(
    st.sampled_from(["operat", "operate", "operator", "operation", "operatio", "cost"]), max_size=5
)


@given(RELATED, RELATED)
def test_related_words_are_paired_the_same_both_ways(one: list[str], other: list[str]) -> None:
    first, second = normalise(" ".join(one)), normalise(" ".join(other))
    assert similarity(first, second) == similarity(second, first)


@given(TEXT, TEXT)
def test_similarity_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    first, second = normalise(one), normalise(other)
    alike = similarity(first, second)
    assert 0 <= alike <= 1
    assert alike == similarity(second, first)
    assert (alike == 1) == (first.key == second.key)
