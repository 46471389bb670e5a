"""The question that stands: a nod keeps the question before it, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.question import LOOKED_BACK, only_agrees, standing_question
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
