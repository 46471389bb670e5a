"""Conversations read from files: the shape decides, whole turns come out, and nothing is lost in silence."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.conversations.formats import (
    Conversation,
    EventLine,
    Transcript,
    parse_transcripts,
    read_conversations,
    to_conversation,
)
from context.conversation.tool_calls import pairs_intact
from context.errors import InvalidInputError
from context.types import Message, Role, Wire
from context.wire import describe
from tests.data import data_dir, session_file

QUESTION = {"role": "user", "content": "How warm is it?"}
ANSWER = {"role": "assistant", "content": "-18.4"}
SESSION = [
    {"type": "session"},
    {"type": "message", "message": QUESTION},
    {"type": "message", "message": ANSWER},
]
RULES = {"role": "system", "content": "Be brief."}


def called(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "read", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def parse(text: str, *, max_messages: int = 500) -> list[Conversation]:
    return [to_conversation(t, max_messages=max_messages) for t in parse_transcripts(text.encode())]


def whole(conversation: Conversation) -> list[Any]:
    return [message for event in conversation.events for message in event.messages]


def core(messages: list[Any]) -> list[Message]:
    facts = [describe(message, Wire.OPENAI) for message in messages]
    return [Message(i, f.role, 0, "", f.call_ids, f.answer_ids) for i, f in enumerate(facts, 1)]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([QUESTION, ANSWER]),
        json.dumps([QUESTION, ANSWER], indent=2),
        json.dumps({"messages": [QUESTION, ANSWER]}),
        json.dumps([{"messages": [QUESTION, ANSWER]}]),
        f"{json.dumps(QUESTION)}\n{json.dumps(ANSWER)}\n",
        f"\n{json.dumps(QUESTION)}\r\n\r\n{json.dumps(ANSWER)}",
        json.dumps({"messages": [QUESTION, ANSWER]}) + "\n",
        "\n".join(json.dumps(entry) for entry in SESSION),
    ],
)
def test_every_shape_gives_the_same_turn(text: str) -> None:
    (conversation,) = parse(text)
    assert whole(conversation) == [QUESTION, ANSWER]
    assert len(conversation.events) == 1


@pytest.mark.parametrize("line", [{"messages": [QUESTION, ANSWER]}, [QUESTION, ANSWER]])
def test_a_line_each_makes_a_conversation_each(line: Any) -> None:
    assert len(parse(f"{json.dumps(line)}\n{json.dumps(line)}")) == 2


def test_a_line_separator_inside_a_string_ends_no_line() -> None:
    odd = {"role": "user", "content": "one\u2028two\u0085three"}
    text = "\n".join(json.dumps(message, ensure_ascii=False) for message in (odd, ANSWER))
    assert whole(parse(text)[0]) == [odd, ANSWER]


def test_a_byte_order_mark_and_gzip_are_taken_off(tmp_path: Path) -> None:
    file = tmp_path / "any.name"
    file.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps([QUESTION, ANSWER]).encode()))
    assert read_conversations(file)[0].messages == 2


def test_system_messages_at_the_start_are_counted_and_kept_for_requests() -> None:
    parts = {"role": "developer", "content": [{"type": "text", "text": "Keep names."}]}
    (conversation,) = parse(json.dumps([RULES, parts, QUESTION, ANSWER]))
    assert conversation.system_prompt == "Be brief.\n\nKeep names."
    assert conversation.system_messages == 2
    assert whole(conversation) == [QUESTION, ANSWER]


def test_a_system_message_inside_stays_in_its_turn() -> None:
    assert whole(parse(json.dumps([QUESTION, ANSWER, RULES, QUESTION]))[0])[2] == RULES


def test_a_replayed_file_repeats_its_turn_ids() -> None:
    text = json.dumps([QUESTION, ANSWER, QUESTION, ANSWER])
    ids = [event.turn_id for event in parse(text)[0].events]
    assert ids == [event.turn_id for event in parse(text)[0].events] == ["turn-00001", "turn-00002"]


def test_a_grown_file_keeps_the_ids_of_what_it_had() -> None:
    before = parse(json.dumps([QUESTION, ANSWER]))[0].events
    after = parse(json.dumps([QUESTION, ANSWER, QUESTION, ANSWER]))[0].events
    assert after[:1] == before


def test_a_name_becomes_the_speaker() -> None:
    (conversation,) = parse(json.dumps([{**QUESTION, "name": "Mira"}, ANSWER, QUESTION, ANSWER]))
    assert [event.speaker for event in conversation.events] == ["Mira", None]


def test_model_and_window_beside_the_messages_go_into_every_event() -> None:
    text = json.dumps({"model": "gpt-4o-mini", "context_window": 16000, "messages": [QUESTION, ANSWER]})
    body = parse(text)[0].events[0].body()
    assert (body["model"], body["context_window"]) == ("gpt-4o-mini", 16000)


def test_a_body_leaves_out_what_the_file_does_not_say() -> None:
    assert set(parse(json.dumps([QUESTION, ANSWER]))[0].events[0].body()) == {"turn_id", "messages"}


def test_a_long_turn_is_sent_in_parts_that_keep_calls_with_their_results() -> None:
    turn = [QUESTION, called("a", "b"), result("b"), result("a"), called("c"), result("c"), ANSWER]
    (conversation,) = parse(json.dumps(turn), max_messages=4)
    assert [len(event.messages) for event in conversation.events] == [4, 3]
    assert [event.turn_id for event in conversation.events] == ["turn-00001.1", "turn-00001.2"]


def test_parallel_calls_larger_than_an_event_are_refused_by_place_and_size() -> None:
    turn = [QUESTION, called("a", "b"), result("b"), result("a")]
    with pytest.raises(InvalidInputError, match=r"messages\[1\].*3 messages.*holds 2"):
        parse(json.dumps(turn), max_messages=2)


@given(
    st.lists(st.sampled_from(["user", "say", "one", "two"]), min_size=1, max_size=40),
    st.integers(min_value=3, max_value=12),
)
def test_events_hold_every_message_once_and_never_split_a_pair(kinds: list[str], limit: int) -> None:
    messages: list[Any] = []
    for i, kind in enumerate(kinds):
        calls = [f"{i}-{n}" for n in range({"one": 1, "two": 2}.get(kind, 0))]
        messages += (
            [called(*calls), *map(result, calls)] if calls else [QUESTION if kind == "user" else ANSWER]
        )
    transcript = Transcript(tuple(EventLine(message) for message in messages))
    conversation = to_conversation(transcript, max_messages=limit)
    assert whole(conversation) == messages
    assert all(len(event.messages) <= limit for event in conversation.events)
    assert all(pairs_intact(core(list(event.messages))) for event in conversation.events)
    assert len({event.turn_id for event in conversation.events}) == len(conversation.events)


def test_entries_of_a_session_that_are_no_messages_are_counted() -> None:
    entries = [
        {"type": "message", "message": QUESTION},
        {"type": "compaction"},
        {"type": "bash_execution"},
        7,
    ]
    (conversation,) = parse("\n".join(json.dumps(entry) for entry in entries))
    assert conversation.skipped == {"compaction": 1, "bash_execution": 1, "not an object": 1}


def test_usage_of_a_session_is_that_of_the_last_answer_that_reports_any() -> None:
    usage = {"input": 5, "output": 2, "cacheRead": 30, "cacheWrite": 10, "totalTokens": 47}
    entries = [
        {"type": "model_change", "modelId": "small"},
        {"type": "message", "message": QUESTION},
        {"type": "message", "message": ANSWER, "meta": {"usage": usage}},
        {"type": "message", "message": ANSWER, "meta": {"usage": {"totalTokens": 0}}},
    ]
    (event,) = parse("\n".join(json.dumps(entry) for entry in entries))[0].events
    assert event.model == "small"
    assert event.usage == {
        "prompt_tokens": 45,
        "completion_tokens": 2,
        "total_tokens": 47,
        "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 10},
    }


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON|is empty"),
        (b"[]", "is empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\x1f\x8bbroken", "not UTF-8"),
        (b'{"role": "user"', "line 1: is not JSON"),
        (b'{"role": "user", "content": "a"}\n{oops}', "line 2: is not JSON"),
        (b'[{"role": "user", "content": NaN}]', "NaN is not JSON"),
        (b"7", "unknown shape"),
        (b'{"text": "hello"}', "unknown shape"),
        (b'[{"role": "user", "content": "a"}, 3]', "unknown shape"),
        (b'{"messages": [{"content": "a"}]}', r"messages\[0\]: is not a message"),
        (b'[{"role": "wizard", "content": "a"}]', r"messages\[0\].role"),
        (b'[{"role": "system", "content": "a"}]', "no turn"),
    ],
)
def test_a_file_that_is_no_conversation_is_refused_with_place_and_reason(
    data: bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "broken.json"
    file.write_bytes(data)
    with pytest.raises(InvalidInputError, match=says):
        read_conversations(file)


def test_the_broken_conversation_of_many_is_named(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    lines = [{"messages": [QUESTION]}, {"messages": [QUESTION, {"role": "tool", "content": "a"}]}]
    file.write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(InvalidInputError, match=r"conversation 2, messages\[1\].tool_call_id"):
        read_conversations(file)


@given(st.binary(max_size=200) | st.text(alphabet='[]{}":,role usmsg0n\\', max_size=80).map(str.encode))
def test_whatever_a_file_holds_is_read_or_refused(data: bytes) -> None:
    try:
        transcripts = parse_transcripts(data)
    except InvalidInputError:
        return
    assert transcripts


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "file", "conversations", "messages", "turns"),
    [
        ("pi_sessions", "", 1, 987, 55),
        ("tau_airline", "trajectories.jsonl", 74, 2018, 572),
        ("livemcp", "trajectories.jsonl", 40, 942, 40),
    ],
)
def test_real_conversations_are_read_whole(
    name: str, file: str, conversations: int, messages: int, turns: int
) -> None:
    read = read_conversations(data_dir(name) / file if file else session_file())
    assert len(read) == conversations
    assert sum(conversation.messages for conversation in read) == messages
    assert sum(len(conversation.events) for conversation in read) == turns


@pytest.mark.data
def test_a_real_session_says_what_was_left_out_and_which_model_answered() -> None:
    (session,) = read_conversations(session_file())
    assert session.skipped == {"thinking_level_change": 5, "bash_execution": 3, "compaction": 2}
    assert {event.model for event in session.events} >= {"claude-opus-4-5"}
    assert all(describe(event.messages[0], Wire.OPENAI).role is Role.USER for event in session.events)
