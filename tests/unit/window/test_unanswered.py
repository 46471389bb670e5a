"""A narrowed window for a question that no earlier message answers in its own words."""

from dataclasses import replace

import pytest

from context.recall.offer import RecallOffer, RecallStatus
from context.summary.sections import Section, write_sections
from context.tokens.budget import Budget
from context.types import Message
from context.window.assemble import ActiveSummary, Window, build_messages
from tests.unit.histories import number, says
from tests.unit.recall.test_recall_window import ASIDE, FERRY, GATE, LIMITS, offer
from tests.unit.windows import check_window, counted, request, texts_of

RULE = "[5] user: Never share my address with a tradesman."
LATEST = "[49] user: The shelves come down to £1,340. (£1,395 [31] -> £1,340 [49])"
TOLD = [f"[{n}] user: On day {n} the neighbour played the cello for the whole evening." for n in range(6, 30)]
SUMMARY = write_sections({Section.CONSTRAINTS: [RULE], Section.PEOPLE: [*TOLD, LATEST]}, "en")
NOTES = ActiveSummary(2, 1, 60, SUMMARY)
OTHER_WORDS = offer(GATE, *[ASIDE] * 20, FERRY, question="owe the carpenter money")
NARROW = Budget(32_000, 500, (), 1_000)


def talk(first_seq: int = 61) -> list[Message]:
    said = [one for n in range(30) for one in (says("user", f"{n} {ASIDE}"), says("assistant", ASIDE))]
    return counted(number(said, first_seq))


def window_for(recall: RecallOffer, notes: ActiveSummary | None = NOTES, budget: Budget = NARROW) -> Window:
    asked = replace(
        request(talk() if notes else [*counted(number([says("user", RULE)], 1)), *talk(2)]),
        notes=notes,
        recall=recall,
        budget=budget,
    )
    window = build_messages(asked)
    check_window(asked, window, [])
    return window


def test_a_short_summary_with_rules_and_latest_values_goes_before_small_talk() -> None:
    window = window_for(OTHER_WORDS)
    assert window.recalled.status is RecallStatus.NOTHING_FOUND
    assert RULE in texts_of(window)
    assert LATEST in texts_of(window)
    assert window.certificate.tail is not None


def test_words_shared_by_chance_do_not_take_the_summarys_room() -> None:
    known = offer("It rained, so we left at last.", *[ASIDE] * 20, question="the last of it")
    assert RULE in texts_of(window_for(replace(known, known=0.1)))


def test_a_failed_search_leaves_the_question_to_the_summary() -> None:
    failed = RecallOffer(status=RecallStatus.SEARCH_FAILED, limits=LIMITS)
    assert RULE in texts_of(window_for(failed))


def test_a_long_question_is_left_to_its_passages() -> None:
    weights = {f"word{n}": 0.1 for n in range(10)}
    window = window_for(replace(OTHER_WORDS, weights=weights), notes=None)
    assert "These are notes about" not in texts_of(window)


def test_a_passage_that_answers_goes_before_the_summary() -> None:
    window = window_for(offer(GATE, *[ASIDE] * 20, FERRY, question="gate code"))
    assert "4711" in texts_of(window)
    assert window.certificate.tail is not None


def test_without_a_summary_the_turns_without_room_are_noted() -> None:
    window = window_for(replace(OTHER_WORDS, hidden_through=61), notes=None)
    assert "These are notes about" in texts_of(window)
    assert window.certificate.fits


@pytest.mark.parametrize("recall", [replace(OTHER_WORDS, status=RecallStatus.SKIPPED, passages=())])
def test_a_message_that_asks_nothing_keeps_its_newest_turns(recall: RecallOffer) -> None:
    assert "These are notes about" not in texts_of(window_for(recall, notes=None))


def test_a_wide_window_keeps_its_turns() -> None:
    wide = window_for(OTHER_WORDS, notes=None, budget=Budget(32_000, 500))
    assert wide.certificate.tail == (1, 61)
