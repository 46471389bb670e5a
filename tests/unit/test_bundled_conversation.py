"""The bundled conversation holds what it claims to hold, and its numbers add up."""

import json
from typing import Any

import pytest

from afterturn.conversations import bundled as depot
from afterturn.conversations.bundled import bundled_conversation
from context.conversation.turns import split_turns
from context.text.language import detect_language
from context.tokens import count_message
from context.types import Message, Wire
from context.wire import describe

CONVERSATION = bundled_conversation()
MESSAGES: list[Any] = [message for event in CONVERSATION.events for message in event.messages]
TEXTS = [message["content"] or "" for message in MESSAGES]


def said_about(words: str) -> list[int]:
    """List the turns in which these words occur, counted from 1."""
    return [
        number
        for number, event in enumerate(CONVERSATION.events, 1)
        if words in json.dumps(event.messages, ensure_ascii=False)
    ]


def test_it_has_at_least_forty_turns_and_all_are_finished() -> None:
    facts = [describe(message, Wire.OPENAI) for message in MESSAGES]
    core = [Message(i, f.role, 0, "", f.call_ids, f.answer_ids) for i, f in enumerate(facts, 1)]
    turns = split_turns(core)
    assert len(turns) == len(CONVERSATION.events) >= 40
    assert all(turn.finished for turn in turns)


def test_it_needs_several_small_windows() -> None:
    assert 40_000 <= sum(count_message(message) for message in MESSAGES) <= 60_000


def test_two_people_speak() -> None:
    assert {event.speaker for event in CONVERSATION.events} == {"Mira", "Jon"}


def test_a_stretch_of_it_is_german() -> None:
    asked = [str(event.messages[0]["content"]) for event in CONVERSATION.events]
    german = [number for number, words in enumerate(asked, 1) if detect_language(words) == "de"]
    assert german == [21, 22, 23, 24, 25]


def test_calls_run_in_parallel_and_some_fail() -> None:
    assert max(len(message.get("tool_calls") or ()) for message in MESSAGES) >= 3
    failed = [t for m, t in zip(MESSAGES, TEXTS, strict=True) if m["role"] == "tool" and "error" in t[:200]]
    assert len(failed) >= 3


def test_one_tool_result_has_thirty_kilobytes() -> None:
    sizes = [
        len(text.encode()) for message, text in zip(MESSAGES, TEXTS, strict=True) if message["role"] == "tool"
    ]
    assert [size for size in sizes if size >= 30_000] == [len(depot.reading_export().encode())]


def test_no_placeholder_is_left() -> None:
    assert not [text for text in TEXTS if text.startswith("{{")]


@pytest.mark.parametrize(
    "identifier", ["LOT-88231", "HOLD-57", "NOTE-44", "CS-0417", "GW-3", "4be19f2", "PO-5582", "4410"]
)
def test_what_is_named_early_is_needed_again(identifier: str) -> None:
    turns = said_about(identifier)
    assert turns[-1] - turns[0] >= 12 or len(turns) >= 3


def test_the_rules_of_the_first_turn_decide_late_turns() -> None:
    assert said_about("06:00")[0] == 1
    assert said_about("forbids a restart of GW-3 between 06:00 and 09:00")[0] > 30
    assert said_about("would break rule 1")[0] > 25


def test_what_the_answers_say_about_the_export_is_true() -> None:
    rows = list(depot.night_readings())
    twice = [row.number for row in rows if row.sensor == depot.TWICE_SENSOR and rows.count(row) == 2]
    assert len(rows) == 560
    assert max(row.late_s for row in rows) == 5467
    assert (min(twice), max(twice), len(twice)) == (206025, 206034, 20)
    others = [row.temp_c for row in rows if row.sensor != depot.LOST_SENSOR]
    assert (min(others), max(others)) == (-18.7, -18.1)


def test_what_the_answers_say_about_the_backfill_is_true() -> None:
    minutes = [line.split() for line in depot.backfill_report().split("\n")[1:-1]]
    over = [words[0][11:16] for words in minutes if float(words[1].removeprefix("temp_c=")) > -16.5]
    assert len(minutes) == 91
    assert (over[1], over[-1], len(over)) == ("02:57", "03:40", 45)
    assert {w[0][11:16] for w in minutes if w[1] == "temp_c=-15.7"} == {"03:20", "03:21", "03:22"}


def test_what_the_answers_say_about_january_is_true() -> None:
    minutes = [depot.alarm_minutes(alarm) for alarm in range(1, depot.JANUARY_ALARMS + 1)]
    assert sum(minute >= 12 for minute in minutes) == 7
    assert (min(minutes), max(m for m in minutes if m < 12)) == (5, 10)
    assert min(minute for minute in minutes if minute >= 12) == 18


def test_what_the_answers_say_about_the_gateway_log_is_true() -> None:
    log = depot.gateway_log()
    assert log.count("timed out") == 45
    assert "attempt=45 " in log
    assert "restored after 5467 s" in log


def test_the_conversation_is_the_same_at_every_load() -> None:
    assert bundled_conversation() == CONVERSATION
