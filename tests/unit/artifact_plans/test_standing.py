# ruff: noqa: RUF001 - words in several scripts
"""The question that stands, for artifacts and for recall: a nod keeps the question or the offer before it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.question import (
    LOOKED_BACK,
    OFFER_CHARS,
    only_agrees,
    recall_question,
    standing_question,
)
from tests.unit.histories import answers, calls, number, says

ASKED = "Which direct flights from Riga to Oslo have free seats?"


@pytest.mark.parametrize(
    "text",
    [
        "Yes, please proceed with that booking. Thank you!",
        "ok",
        "Great! That works for me. Let's proceed with this option.",
        "Ja, mach weiter bitte",
        "Oui, s'il vous plaît.",
        "好的继续吧",
    ],
)
def test_a_nod_asks_for_nothing_of_its_own(text: str) -> None:
    assert only_agrees(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thanks!",
        "no, cancel it",
        "Yes, but which of them has free seats?",
        "Yes, please take flight HAT136.",
        "Yes, and move the hotel booking of the two children to Friday morning.",
        "What does the report say about rain?",
        "pallets",
        "Summarize the report, please.",
        "Please cancel it.",
        "Yes, the summary.",
    ],
)
def test_what_says_something_of_its_own_is_no_nod(text: str) -> None:
    assert not only_agrees(text)


def test_after_a_nod_the_question_before_it_stands() -> None:
    tail = number([says("user", ASKED), says("assistant", "Two. Shall I look closer?")])
    assert standing_question([says("user", "Yes, go ahead.")], tail) == ASKED


def test_several_nods_in_a_row_keep_the_same_question() -> None:
    tail = number([says("user", ASKED), says("assistant"), says("user", "ok"), says("assistant")])
    assert standing_question([says("user", "yes please")], tail) == ASKED


def test_further_steps_of_a_nod_keep_the_question_too() -> None:
    tail = number([says("user", ASKED), says("assistant"), says("user", "Go on."), *calls(["c1"])])
    assert standing_question(answers(["c1"]), tail) == ASKED


def test_a_question_of_its_own_stands_for_itself() -> None:
    tail = number([says("user", ASKED), says("assistant")])
    assert standing_question([says("user", "Is there coffee?")], tail) == "Is there coffee?"


def test_behind_nods_alone_the_newest_stands() -> None:
    assert standing_question([says("user", "ok")], number([says("user", "yes")])) == "ok"


def test_not_more_than_a_few_messages_are_looked_back() -> None:
    nods = [says("user", "ok") for _ in range(LOOKED_BACK)]
    assert standing_question([says("user", "yes")], number([says("user", ASKED), *nods])) == "yes"


@given(st.text(max_size=200), st.text(max_size=200))
def test_what_stands_was_said(before: str, now: str) -> None:
    found = standing_question([says("user", now)], number([says("user", before)]))
    assert found.strip() in {before.strip(), now.strip()}


OFFER = "Flight HAT136 leaves at 9. I would pay it with the gift card that you named. Shall I book it?"


@pytest.mark.parametrize(
    ("offer", "consent"),
    [
        (OFFER, "Yes, please proceed with that booking. Thank you!"),
        (OFFER, "ok"),
        (
            "I will charge card 7334 for the upgrade.\nPlease confirm with a yes to proceed.",
            "Yes, please proceed.",
        ),
        ("Shall I look up where the 9 am boat leaves?", "yes please"),
        ("Soll ich den Flug HAT136 mit der Geschenkkarte bezahlen?", "Ja, mach weiter bitte"),
        ("Voulez-vous que je réserve le vol HAT136 avec la carte cadeau ?", "Oui, s'il vous plaît."),
        ("要我用您提到的礼品卡预订HAT136航班吗？", "好的继续吧"),
    ],
)
def test_who_accepts_an_offer_asks_for_what_is_offered(offer: str, consent: str) -> None:
    tail = number([says("user", ASKED), says("assistant", offer)])
    assert recall_question([says("user", consent)], tail) == offer
    going_on = number([says("user", ASKED), says("assistant", offer), says("user", consent), *calls(["c1"])])
    assert recall_question(answers(["c1"]), going_on) == offer


@pytest.mark.parametrize(
    ("answer", "consent"),
    [
        ("The flight HAT136 is booked.", "ok"),
        ("The flight HAT136 is booked.", "Go on."),
        ("Done. Anything else?", "yes please"),
        ("Would you like to know anything else about this topic?", "yes please"),
        ("Kann ich sonst noch etwas für Sie tun?", "Ja, mach weiter bitte"),
        ("Shall I go on?", "Yes, go ahead."),
        ("", "ok"),
        ("?" * 2_000, "ok"),
        (
            "Which of HAT136 and HAT140 is it? "
            + "Both leave from Riga in the morning, and both are nearly full. " * 6,
            "ok",
        ),
    ],
)
def test_a_nod_at_nothing_concrete_asks_for_nothing(answer: str, consent: str) -> None:
    tail = number([says("user", ASKED), says("assistant", answer)])
    assert recall_question([says("user", consent)], tail) == consent


def test_a_nod_without_an_answer_before_it_asks_for_nothing() -> None:
    assert recall_question([says("user", "ok")], ()) == "ok"
    assert recall_question([says("user", "ok")], number([says("user", OFFER)])) == "ok"
    assert recall_question([says("user", "ok")], number([says("user", ASKED), *calls(["c1"])])) == "ok"
    assert recall_question([], ()) == ""


def test_words_of_the_users_own_are_searched_as_they_are() -> None:
    tail = number([says("user", ASKED), says("assistant", OFFER)])
    for asked in ("Yes, but pay with the credit card ending in 7334.", "no, cancel it", "Is there coffee?"):
        assert recall_question([says("user", asked)], tail) == asked


def test_of_a_long_offer_the_end_is_searched() -> None:
    tail = number([says("user", ASKED), says("assistant", "Rows of seats. " * 5_000 + OFFER)])
    found = recall_question([says("user", "yes please")], tail)
    assert found.endswith(OFFER)
    assert len(found) <= OFFER_CHARS


@given(st.text(max_size=200), st.sampled_from(["ok", "yes please", "go on"]))
def test_a_search_is_for_words_of_the_talk(answer: str, consent: str) -> None:
    found = recall_question([says("user", consent)], number([says("user", ASKED), says("assistant", answer)]))
    assert found in {answer.strip(), consent}
