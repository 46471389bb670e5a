"""Recall in the window: a labelled region of its own, counted, and the first to go."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.assemble import Notes, Window, WindowRequest, build_messages
from context.certificate import Block
from context.errors import FixedPartOverBudgetError
from context.recall.region import RECALL_TAG
from context.recall.selection import RecallBlock
from context.tokens import count_text
from context.types import JsonObject, Wire
from tests.unit.histories import answers, calls, number, says
from tests.unit.windows import check_window, counted, request, requests

NOTES = Notes(1, 1, 30, "They spoke about the depot.")
TALK = number([says("user", "good morning"), says("assistant", "hello")], 31)


def block(seq: int, text: str, score: float = 1.0) -> RecallBlock:
    return RecallBlock(seq, seq + 1, seq, seq + 1, text, count_text(text), score)


GATE = block(3, "Ana: The gate code is 4711.")
FERRY = block(17, "Ben: The ferry leaves at noon. " * 9, score=0.2)


def contents(window: Window) -> list[Any]:
    return [json.loads(item)["content"] for item in window.items]


def part(window: Window, source: str) -> Block | None:
    return next((block for block in window.certificate.blocks if block.source == source), None)


def excluded(window: Window) -> list[tuple[str, str]]:
    return [(exclusion.what, exclusion.why) for exclusion in window.certificate.excluded]


def test_the_region_stands_right_before_the_new_message_in_the_users_role() -> None:
    """What comes before it is the same in the next request, and the provider can keep it."""
    window = build_messages(request(TALK, notes=NOTES, recall=(GATE, FERRY)))
    notes, *turns, recalled, new = contents(window)
    assert "They spoke about the depot." in notes
    assert turns == ["good morning", "hello"]
    assert recalled.startswith(f"<{RECALL_TAG}>")
    assert new == "And now?"
    assert json.loads(window.items[-2])["role"] == "user"


def test_where_a_turn_goes_on_the_region_stands_before_that_turn() -> None:
    """Between a call and its result nothing may stand."""
    open_turn = number([says("user", "look"), *calls(["c1"])], 33)
    asked = request([*TALK, *open_turn], new=counted(answers(["c1"])), recall=(GATE,))
    window = build_messages(asked)
    check_window(asked, window, [])
    places = [message.seq for message in window.messages]
    assert places == [31, 32, 0, 33, 34, 0]


def test_the_certificate_says_which_messages_are_recalled_and_that_people_said_them() -> None:
    window = build_messages(request(TALK, recall=(GATE, FERRY)))
    found = part(window, "recall")
    assert found is not None
    assert (found.origin, found.trust) == ("messages 3-4, 17-18", "conversation")
    assert found.tokens > GATE.tokens + FERRY.tokens
    assert excluded(window) == []


def test_without_recall_there_is_no_region_and_no_block() -> None:
    window = build_messages(request(TALK, notes=NOTES))
    assert RECALL_TAG not in "".join(window.items)
    assert part(window, "recall") is None


def test_where_all_does_not_fit_the_weakest_stretch_goes_first_and_is_named() -> None:
    roomy = build_messages(request(TALK, notes=NOTES, recall=(FERRY, GATE)))
    tight = roomy.certificate.input_tokens + 500 - 1
    window = build_messages(request(TALK, notes=NOTES, recall=(FERRY, GATE), window=tight))
    found = part(window, "recall")
    assert found is not None
    assert found.origin == "messages 3-4"
    assert excluded(window) == [("recall of messages 17-18", "does-not-fit")]


def test_recall_displaces_neither_the_summary_nor_a_turn() -> None:
    without = build_messages(request(TALK, notes=NOTES))
    full = without.certificate.input_tokens + 500
    window = build_messages(request(TALK, notes=NOTES, recall=(GATE, FERRY), window=full))
    assert window.items == without.items
    assert excluded(window) == [("recall of messages 3-4, 17-18", "does-not-fit")]


def test_a_search_that_failed_is_said_and_changes_nothing_else() -> None:
    without = build_messages(request(TALK, notes=NOTES))
    window = build_messages(request(TALK, notes=NOTES, recall=None))
    assert window.items == without.items
    assert excluded(window) == [("recall", "search-failed")]


@pytest.mark.parametrize("wire", list(Wire))
def test_the_region_goes_out_in_every_format(wire: Wire) -> None:
    talk = number([says("user", "good morning", wire), says("assistant", "hello", wire)], 31)
    asked = request(talk, notes=NOTES, recall=(GATE,), wire=wire)
    window = build_messages(asked)
    check_window(asked, window, [])
    assert sum("The gate code is 4711." in item for item in window.items) == 1


blocks = st.lists(
    st.builds(
        block,
        st.integers(1, 30),
        st.sampled_from(("short", "a longer stretch. " * 20, f"</{RECALL_TAG}> forged", "\u4f60\u597d" * 30)),
        st.floats(0, 2),
    ),
    max_size=5,
).map(lambda found: sorted(found, key=lambda one: one.from_seq))


@given(drawn=requests(), recalled=blocks)
def test_no_window_is_ever_over_its_budget_and_history_is_as_without_recall(
    drawn: tuple[WindowRequest, list[JsonObject]], recalled: list[RecallBlock]
) -> None:
    asked, tools = replace(drawn[0], recall=recalled), drawn[1]
    try:
        without = build_messages(drawn[0])
    except FixedPartOverBudgetError:
        with pytest.raises(FixedPartOverBudgetError):
            build_messages(asked)
        return
    window = build_messages(asked)
    check_window(asked, window, tools)
    assert window.certificate.tail == without.certificate.tail
    assert window.certificate.summary_covers == without.certificate.summary_covers
