"""What an artifact will be read for: likely focuses first, each once, never more than asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.focus import focus_key
from context.precompute.predict import (
    HITS,
    READS,
    FocusOrigin,
    ReadingCost,
    bears_on,
    expected_saving,
    open_points,
    predict_focuses,
)
from context.words import index_terms

TEXTS = st.lists(st.text(max_size=60), max_size=5)
MINED = st.lists(st.tuples(st.text(max_size=60), st.floats(0.01, 1)), max_size=5)


def test_the_question_of_the_turn_comes_first_and_the_general_focus_last() -> None:
    found = predict_focuses(question="Which flights have free seats?", open_work=["book the hotel"])
    assert [guess.origin for guess in found] == [
        FocusOrigin.TURN,
        FocusOrigin.OPEN_WORK,
        FocusOrigin.GENERAL,
    ]


def test_a_question_asked_again_by_history_is_predicted_once() -> None:
    found = predict_focuses(question="Open errors in the log", mined=[("the log's OPEN errors", 0.9)])
    assert [guess.origin for guess in found] == [FocusOrigin.TURN, FocusOrigin.GENERAL]


def test_a_focus_of_little_words_alone_is_the_general_one() -> None:
    assert [guess.origin for guess in predict_focuses(question="what is it?")] == [FocusOrigin.GENERAL]


def test_a_mined_focus_counts_by_its_share() -> None:
    found = predict_focuses(mined=[("open invoices", 0.2), ("late payments", 0.8)])
    assert [guess.text for guess in found] == ["late payments", "open invoices", ""]


def test_a_limit_of_one_leaves_the_general_focus() -> None:
    assert [g.origin for g in predict_focuses(question="late payments", limit=1)] == [FocusOrigin.GENERAL]


@given(st.text(max_size=200), TEXTS, MINED, TEXTS, st.integers(1, 6))
def test_predictions_are_few_distinct_and_end_with_the_general_one(
    question: str, open_work: list[str], mined: list[tuple[str, float]], topics: list[str], limit: int
) -> None:
    found = predict_focuses(question=question, open_work=open_work, mined=mined, topics=topics, limit=limit)
    keys = [focus_key(guess.text) for guess in found]
    assert 1 <= len(found) <= limit
    assert len(set(keys)) == len(keys)
    assert found[-1].origin is FocusOrigin.GENERAL
    assert all(0 < guess.hits <= READS for guess in found)


def test_open_work_is_read_from_the_summary() -> None:
    summary = "## Objective\n- move the depot\n\n## Open work\n- call the carrier\n- weigh the crates\n"
    assert open_points(summary) == ["call the carrier", "weigh the crates"]


def test_open_work_is_worth_reading_for_at_usual_sizes() -> None:
    hits = HITS[FocusOrigin.OPEN_WORK]
    assert saving(hits, 2_000) > 0
    assert saving(hits, 20_000) > 0
    assert saving(hits, 600) < 0


@pytest.mark.parametrize(
    ("point", "bears"),
    [
        ("Call the carrier of container MSKU-481516", True),
        ("weigh the crates", False),
        ("the container and the invoices", True),
        ("", False),
    ],
)
def test_open_work_is_read_for_where_the_artifact_has_half_of_its_words(point: str, bears: bool) -> None:
    held = frozenset(index_terms("The carrier called: container MSKU-481516 leaves berth 23."))
    assert bears_on(point, held) is bears


def test_topics_come_after_what_people_asked() -> None:
    found = predict_focuses(question="late payments", topics=["invoices", "Late payments"])
    assert [guess.text for guess in found] == ["late payments", "invoices", ""]


def test_a_topic_is_stored_as_what_the_text_itself_suggests() -> None:
    assert FocusOrigin.TOPIC.stored == "general"
    assert FocusOrigin.TURN.stored == "turn"


def saving(hits: float, artifact_tokens: int, *, price_share: float = 0.25) -> float:
    summary_tokens = min(500, artifact_tokens // 3)
    cost = ReadingCost(artifact_tokens, summary_tokens, min(artifact_tokens, 24_000))
    return expected_saving(hits, cost, price_share=price_share)


def test_a_small_artifact_is_not_worth_a_general_summary_and_a_large_one_is() -> None:
    assert saving(HITS[FocusOrigin.GENERAL], 1_500) < 0
    assert saving(HITS[FocusOrigin.GENERAL], 6_000) > 0


def test_a_topic_is_worth_a_summary_only_where_the_summarizer_costs_nothing() -> None:
    assert saving(HITS[FocusOrigin.TOPIC], 20_000) < 0
    assert saving(HITS[FocusOrigin.TOPIC], 20_000, price_share=0) > 0


@given(st.floats(0, 10), st.integers(0, 100_000), st.floats(0, 1))
def test_a_dearer_summarizer_never_makes_a_summary_worth_more(
    hits: float, artifact_tokens: int, price_share: float
) -> None:
    dear, cheap = (
        saving(hits, artifact_tokens, price_share=price_share),
        saving(hits, artifact_tokens, price_share=0),
    )
    assert dear <= cheap
