"""What an artifact will be read for: likely focuses first, each once, never more than asked for."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context.focus import focus_key
from context.precompute.predict import (
    READS,
    FocusOrigin,
    bears_on,
    open_points,
    predict_focuses,
)
from context.text.terms import index_terms

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
@example("некоторые", [], [], [], 4)
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
