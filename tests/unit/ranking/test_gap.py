"""A gap: nothing in the catalog serves the intent, and the verdict says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.ranking.rank import FEW, find_least_fit, rank
from context.ranking.types import GapVerdict
from tests.unit.ranking.shelves import OFFICE, index_of, pack

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


def gap(intent: str) -> GapVerdict:
    return rank(OFFICE, intent).gap


@pytest.mark.parametrize(
    "intent",
    [
        "mow the lawn behind the house",
        "why do cats purr?",
        "who won the chess final in 1972",
        "расскажи анекдот про слона",
        "给我讲个笑话吧",
    ],
)
def test_what_no_tool_does_is_a_gap(intent: str) -> None:
    assert gap(intent).is_gap


@pytest.mark.parametrize(
    "intent",
    [
        "what is the weather in Oslo?",
        "email",
        "send an email to Ann with the report",
        "translate this text into French, please",
        "把这段文字翻译成英文",
        "какая завтра погода?",
        "generate an image of a lighthouse at night",
    ],
)
def test_what_a_tool_does_is_no_gap(intent: str) -> None:
    assert not gap(intent).is_gap


def test_a_gap_names_the_words_that_no_tool_knows_as_they_were_written() -> None:
    assert gap("Mow the Lawn behind the Greenhouse").unexplained == ("Mow", "Lawn", "behind", "Greenhouse")


@pytest.mark.parametrize("intent", ["", "  ", "🎉🎉", "the of and"])
def test_where_nothing_was_asked_there_is_no_gap(intent: str) -> None:
    assert not gap(intent).is_gap


def test_an_empty_catalog_serves_nothing() -> None:
    assert rank(index_of(), "send an email").gap.is_gap


def test_words_that_all_tools_have_explain_nothing() -> None:
    index = index_of(pack("get_data", "Get data with a request and return the result."), pack("list_items"))
    assert rank(index, "get a list of volcanoes in Iceland").gap.is_gap


def test_more_words_of_the_intent_make_a_better_fit() -> None:
    assert gap("send").fit < gap("send an email").fit < gap("send an email with attachments").fit


def test_history_does_not_close_a_gap() -> None:
    intent = "mow the lawn"
    assert rank(OFFICE, intent, priors={"send_email": 1.0}).gap == rank(OFFICE, intent).gap


@given(TEXT)
def test_a_verdict_stays_in_its_range(intent: str) -> None:
    verdict = gap(intent)
    assert 0.0 <= verdict.fit <= 1.0
    assert verdict.is_gap or not verdict.unexplained


def test_a_short_list_is_warned_of_earlier_than_a_long_one() -> None:
    intent = "send the quarterly report"
    few = index_of(*(pack(f"note_{number}", "Keep a note.") for number in range(FEW)))
    assert find_least_fit(FEW) > find_least_fit(FEW + 1)
    for index in (OFFICE, few):
        verdict = rank(index, intent).gap
        assert verdict.is_gap == (verdict.fit < find_least_fit(len(index.silent)))
