"""Brief notes: data of tools that a narrowed window cannot show raw, written within the request."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from context.conversation.transcript import RenderLimits, render_transcript
from context.summary.extractive.summarize import Summarizer
from context.summary.others_words import users_language
from context.summary.prompt import SummaryInput
from context.tokens.budget import Budget
from context.types import Message, Wire
from context.window.assemble import ActiveSummary, Window, WindowRequest, build_messages
from context.window.recall import FRAME_TOKENS, MOST_COVERED, BriefNotes
from tests.unit.histories import answers, calls, number, says
from tests.unit.recall.test_recall_window import ASIDE, FERRY, GATE, offer
from tests.unit.windows import check_window, counted, long_turn, request, texts_of

CARD = {"user_id": "mia_kim_4397", "payment": {"source": "credit_card", "id": "credit_card_7447"}}
RECORD = json.dumps({**CARD, "notes": ["nothing of interest, and much of it " * 4] * 6})
LIMIT = Budget(32_000, 500, (), 900)


def talk(*older: Sequence[Message], newest: str = "and a word of the newest turn ") -> list[Message]:
    last = number([says("user", "go on"), says("assistant", newest * 40)], 90)
    return counted([message for turn in (*older, last) for message in turn])


def chatter(seq: int) -> list[Message]:
    return number([says("user", ASIDE), says("assistant", ASIDE * 4)], seq)


def notes_in(window: Window) -> list[str]:
    return [item for item in window.items if "These are notes about" in item]


def read(tail: Sequence[Message], **fields: Any) -> tuple[WindowRequest, Window]:
    asked = replace(request(tail), budget=LIMIT, **fields)
    window = build_messages(asked)
    check_window(asked, window, [])
    return asked, window


RECORDED = talk(long_turn(1, RECORD), chatter(30), chatter(40))


def test_data_of_tools_without_room_is_noted_with_its_keys() -> None:
    _, window = read(RECORDED)
    assert notes_in(window)
    assert "credit_card_7447" in texts_of(window)
    assert window.certificate.summary_covers == (1, 41)
    block = next(one for one in window.certificate.blocks if one.source == "summary")
    assert (block.origin, block.trust) == ("summary 0, messages 1-41", "untrusted")


def test_no_notes_are_written_where_the_request_sets_no_limit() -> None:
    window = build_messages(request(RECORDED, window=1_500, output=500))
    assert not notes_in(window)


def test_words_alone_are_left_to_recall() -> None:
    _, window = read(talk(chatter(1), chatter(30), chatter(40)))
    assert not notes_in(window)


def test_a_summary_in_force_stands_instead_of_brief_notes() -> None:
    summary = ActiveSummary(3, 1, 5, "They spoke about the depot.")
    _, window = read(RECORDED, notes=summary)
    assert all("summary 0" not in block.origin for block in window.certificate.blocks)


def test_more_than_a_request_can_read_is_not_noted() -> None:
    much = [long_turn(n * 10 + 1, RECORD) for n in range(8)]
    assert sum(message.tokens for turn in much for message in counted(turn)) < MOST_COVERED
    assert notes_in(read(talk(*much))[1])
    pages = long_turn(1, "a page of other data, row after row " * 2_000)
    assert not notes_in(read(talk(pages, chatter(30)))[1])


def test_notes_tell_the_results_of_a_cut_turn_and_not_the_words_that_stand_beside() -> None:
    record = json.dumps({"payment": {"id": "credit_card_7447"}, "log": ["of no interest at all " * 4] * 20})
    answer = "The gift for Karin is paid with the card that you have used before."
    newest = [*long_turn(90, record)[:-1], *number([says("assistant", answer)], 95)]
    _, window = read(counted([*chatter(30), *chatter(40), *newest]))
    [notes] = notes_in(window)
    assert "credit_card_7447" in notes
    assert sum(item.count(answer) for item in window.items) == 1


@pytest.mark.parametrize("limit", [900, 1_500, 3_000])
def test_a_large_newest_turn_leaves_room_for_a_line_that_answers(limit: int) -> None:
    newest = long_turn(90, *["rows and rows of another result " * 60] * 4)
    asked = replace(
        request(counted([*chatter(60), *newest])),
        budget=Budget(32_000, 500, (), limit),
        recall=offer(GATE, *[ASIDE] * 9, question="gate code"),
    )
    window = build_messages(asked)
    check_window(asked, window, [])
    assert GATE in texts_of(window)
    assert window.certificate.tail is not None
    assert window.certificate.tail[1] == newest[-1].seq


LONG_PLAN = "I look at row after row of the page and write the next one. " * 60
"""Words beside a call: no result that could be shortened."""


@pytest.mark.parametrize("limit", [900, 1_200])
@pytest.mark.parametrize("answer_words", [5, 60])
def test_all_steps_of_the_newest_turn_give_way_to_a_line_that_answers(limit: int, answer_words: int) -> None:
    steps = [one for n in range(4) for one in (*calls([f"c{n}"], LONG_PLAN), *answers([f"c{n}"]))]
    turn = [says("user", "write the page"), *steps, says("assistant", "The page is written. " * answer_words)]
    pages = long_turn(1, "a page of other data, row after row " * 2_000)
    newest = number(turn, 90)
    asked = replace(
        request(counted([*pages, *newest])),
        budget=Budget(32_000, 500, (), limit),
        recall=offer(GATE, *[ASIDE] * 9, question="gate code"),
    )
    window = build_messages(asked)
    check_window(asked, window, [])
    shown = texts_of(window)
    assert GATE in shown
    assert "write the page" in shown
    assert "The page is written." in shown
    assert window.certificate.tail == (90, newest[-1].seq)


@pytest.mark.parametrize("question", ["gate code ferry", "the guard at noon and the code", "gate guard noon"])
def test_ends_of_large_results_give_way_to_a_line_with_half_of_the_question(question: str) -> None:
    newest = long_turn(90, *["rows and rows of another result " * 900] * 3)
    asked = replace(
        request(counted([*chatter(60), *newest])),
        budget=LIMIT,
        recall=offer(GATE, *[ASIDE] * 9, FERRY, question=question),
    )
    window = build_messages(asked)
    check_window(asked, window, [])
    assert not notes_in(window)
    assert GATE in texts_of(window)
    assert window.certificate.tail is not None
    assert window.certificate.tail[1] == newest[-1].seq


def test_notes_of_the_same_messages_in_another_length_read_them_once() -> None:
    covered = long_turn(1, RECORD)
    brief = BriefNotes(covered, Wire.OPENAI, lambda count: count.tokens, 1.0)
    short, long = (brief.write(most) for most in (135, 700))
    assert short is not None
    assert long is not None
    assert len(short[0].text) < len(long[0].text)
    lines = render_transcript(covered, limits=RenderLimits(result_chars=6_000))
    said = SummaryInput(lines, 135 - FRAME_TOKENS, users_language(lines))
    assert short[0].text == Summarizer(said, asked="").write(135 - FRAME_TOKENS)
    kept = [key for key in covered[-1].found if isinstance(key, tuple) and lines in key]
    assert len(kept) == 1
