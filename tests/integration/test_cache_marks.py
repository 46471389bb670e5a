"""Marks for a provider's cache, and a list of tools that stays where its change would cost more."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.reading import Platform
from tests.integration.test_tools_context import TOOLS, names, tool

MARK = "cache_control"
CLAUDE = "claude-sonnet-4-5"
TEXT = {"type": "string"}
LONG = "The pallet stands in hall seven and waits for its papers. " * 150


@pytest.fixture
def platform(client: TestClient, tenant_id: Any) -> Platform:
    return Platform(client, tenant_id, server=None)  # type: ignore[arg-type]


def ask(platform: Platform, question: str = "And now?", **fields: Any) -> dict[str, Any]:
    return platform.ask(question, model=CLAUDE, wire="anthropic", context_window=64_000, **fields)


def marked(messages: list[dict[str, Any]]) -> list[int]:
    return [place for place, message in enumerate(messages) if MARK in json.dumps(message)]


def told(messages: list[dict[str, Any]]) -> str:
    """What is said, however it is written down."""
    bare = json.loads(json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', ""))
    return json.dumps(
        [
            [{"type": "text", "text": one["content"]}] if isinstance(one["content"], str) else one["content"]
            for one in bare
        ]
    )


def test_the_end_of_history_is_marked_and_the_next_request_begins_with_it(platform: Platform) -> None:
    for number in range(3):
        platform.turn(f"{number} {LONG}")
    first = ask(platform)["messages"]
    assert marked(first) == [len(first) - 2, len(first) - 1]
    platform.turn("And now?")
    second = ask(platform, "And then?")["messages"]
    assert told(second[: len(first)]) == told(first)
    assert max(marked(second)) > max(marked(first))


def test_a_step_of_an_open_turn_is_marked_at_its_end(platform: Platform) -> None:
    platform.turn(LONG)
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    given = {"type": "tool_result", "tool_use_id": "c1", "content": "found"}
    body = {
        "model": CLAUDE,
        "wire": "anthropic",
        "context_window": 64_000,
        "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [given]},
        ],
    }
    found = platform.client.post(f"/v1/sessions/{platform.session_id}/context", json=body).json()
    assert marked(found["messages"])[-1] == len(found["messages"]) - 1
    assert found["messages"][-1]["content"][0] == {**given, MARK: {"type": "ephemeral"}}


def test_what_is_too_short_to_be_kept_is_not_marked(platform: Platform) -> None:
    platform.turn("Hello.")
    assert marked(ask(platform)["messages"]) == []


def test_there_are_never_more_marks_than_the_provider_takes(platform: Platform) -> None:
    platform.turn(LONG)
    own = {"type": "text", "text": "And now?", MARK: {"type": "ephemeral"}}
    tools = [{**tool(f"look_{n}", LONG)["function"], "input_schema": {"type": "object"}} for n in range(3)]
    tools = [{key: one[key] for key in ("name", "description", "input_schema")} for one in tools]
    tools[0][MARK] = {"type": "ephemeral"}
    body = {
        "model": CLAUDE,
        "wire": "anthropic",
        "context_window": 64_000,
        "tools": tools,
        "messages": [{"role": "user", "content": [own]}],
    }
    found = platform.client.post(f"/v1/sessions/{platform.session_id}/context", json=body).json()
    both = json.dumps([found["messages"], found["tools"]])
    assert 2 <= both.count(f'"{MARK}"') <= 3, "one more stays for the caller's system prompt"


def test_marks_of_many_tools_and_messages_are_bounded_together(platform: Platform) -> None:
    platform.turn(LONG)
    mark = {MARK: {"type": "ephemeral"}}
    tools = [
        {"name": f"look_{n}", "description": LONG, "input_schema": {"type": "object"}, **mark}
        for n in range(5)
    ]
    said = [{"role": "user", "content": [{"type": "text", "text": f"{n}", **mark}]} for n in range(5)]
    body = {"model": CLAUDE, "wire": "anthropic", "context_window": 64_000, "tools": tools, "messages": said}
    found = platform.client.post(f"/v1/sessions/{platform.session_id}/context", json=body).json()
    assert json.dumps(found["messages"]).count(f'"{MARK}"') == 2
    assert [MARK in one for one in found["tools"]] == [False] * 4 + [True]
    assert "stored-cache-marks" in found["certificate"]["accepted_shape"]["rules"]


@pytest.mark.parametrize("wire", ["openai", "responses"])
def test_formats_without_marks_get_none(platform: Platform, wire: str) -> None:
    platform.turn(LONG)
    answer = platform.ask(model=CLAUDE, wire=wire, context_window=64_000)
    assert MARK not in json.dumps(answer["messages"])


def test_a_long_session_keeps_its_list_of_tools_and_says_why(platform: Platform) -> None:
    few = platform.ask("hey, thanks!", tools=TOOLS, context_window=64_000)
    assert names(few) == ["message"]
    for _ in range(3):
        platform.turn(LONG)
    kept = platform.ask("hey, thanks!", tools=TOOLS, context_window=64_000)
    assert names(kept) == names(platform.ask("Fix the bug in parser.py.", tools=TOOLS, context_window=64_000))
    assert len(names(kept)) == len(TOOLS)
    assert "cache.keeps_the_list_of_tools" in kept["preflight"]["reasons"]
    assert kept["utilization"]["tools"]["filtered"] == []


THINGS = ("invoice", "calendar", "ticket", "parcel", "survey", "forum", "mail", "video", "song", "map")
CROWD = [
    tool(f"{verb}_{thing}", "Does one thing with one kind of object, and tells how it went.", of=TEXT)
    for verb in ("create", "list", "update", "delete", "search", "get", "archive", "share", "play")
    for thing in THINGS
]


@pytest.mark.parametrize("model", ["gpt-5", CLAUDE])
def test_the_first_turn_of_a_session_sends_the_tools_that_bear_on_it(platform: Platform, model: str) -> None:
    """Nothing of the session is cached yet; a turn's steps keep one list, and later turns have all of it."""
    asked = {"model": model, "tools": CROWD, "context_window": 64_000}
    first = platform.ask("play a song", **asked)
    assert "play_song" in names(first)
    assert len(names(first)) < len(CROWD) / 2
    body = {**asked, "messages": called("play a song", "play_song")}
    step = platform.client.post(f"/v1/sessions/{platform.session_id}/context", json=body).json()
    assert names(step) == names(first)
    platform.turn(LONG)
    later = platform.ask("play a song", **asked)
    assert len(names(later)) == len(CROWD)
    assert "cache.keeps_the_list_of_tools" in later["preflight"]["reasons"]


def test_a_first_turn_keeps_all_tools_where_a_long_system_prompt_stands_behind_them(
    platform: Platform,
) -> None:
    asked = {"model": "gpt-5", "tools": CROWD, "context_window": 64_000, "system_prompt": LONG * 3}
    assert len(names(platform.ask("play a song", **asked))) == len(CROWD)


def called(question: str, name: str) -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "It plays."},
    ]


def test_what_the_provider_should_find_is_what_stayed_the_same(platform: Platform) -> None:
    for _ in range(3):
        platform.turn(LONG)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    turn = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": LONG},
    ]
    body = {"model": "gpt-4o", "context_window": 64_000, "messages": turn}
    found = platform.client.post(f"/v1/sessions/{platform.session_id}/context", json=body).json()
    expected = found["utilization"]["cache"]["expected_tokens"]
    assert expected % 128 == 0
    breakdown = found["utilization"]["breakdown"]
    assert breakdown["history"] - 128 < expected < breakdown["history"] + 128
