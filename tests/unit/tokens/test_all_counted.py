"""Whatever is sent is counted: more words in any string of a message raise its count."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.tokens import count_message, count_text, count_tools, measure_message
from context.tokens.pieces import OPAQUE, UNBILLED, UNBILLED_OF_MEDIA, UNBILLED_OF_TEXT
from context.types import JsonObject
from tests.unit.tokens.test_message import DATA_URL, PNG

WORDS = " word" * 200
PATCH = "*** Begin Patch\n" + "+    value = compute(item)\n" * 40

FREE = {**UNBILLED, **UNBILLED_OF_TEXT, **UNBILLED_OF_MEDIA}
"""The strings that may cost nothing, each with its reason."""

MESSAGES: list[JsonObject] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": PATCH}}],
    },
    {
        "role": "assistant",
        "content": "Done.",
        "reasoning": "I add.",
        "reasoning_content": "I add.",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "I add.", "signature": "c2ln", "format": "x-v1", "index": 0},
            {"type": "reasoning.summary", "summary": "Adding."},
            {"type": "reasoning.encrypted", "data": "QUJD"},
        ],
    },
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Done.", "citations": [{"cited_text": "a"}], "note": "n"}],
        "thinking_blocks": [{"type": "thinking", "thinking": "I add.", "signature": "c2ln"}],
        "provider_specific_fields": {"deep": [{"er": "still sent"}]},
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "I add."}]},
            {"type": "text", "text": "Done.", "cache_control": {"type": "ephemeral"}},
            {"type": "refusal", "refusal": "No.", "why": "because"},
        ],
        "refusal": "No.",
        "name": "alice",
    },
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"q":"x"}', "note": "n"},
                "extra_content": {"google": {"thought_signature": "QUJD"}},
            }
        ],
        "function_call": {"name": "look", "arguments": "{}"},
        "audio": {"id": "audio_1", "data": "AAAA", "transcript": "Hello."},
    },
    {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "seen", "artifact": {"rows": ["a"]}},
    {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": DATA_URL, "detail": "high", "alt": "a cat"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
            {"type": "document_url", "document_url": "https://a.invalid/a.pdf", "document_name": "a"},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
            {"type": "video_url", "video_url": {"url": "https://a.invalid/a.mp4"}},
            {"type": "reference", "reference_ids": ["1"]},
            "bare words",
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I add.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "QUJD"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "x"}, "caller": {"by": "code"}},
            {"type": "mcp_tool_use", "id": "m1", "name": "echo", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [{"type": "text", "text": "seen"}]},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    {"type": "search_result", "title": "t", "source": "s", "content": []},
                ],
                "error": "none",
            },
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "words"},
                "title": "t",
                "context": "c",
            },
            {"type": "document", "source": {"type": "url", "url": "https://a.invalid"}, "title": "t"},
        ],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Adding."}],
        "content": [{"type": "reasoning_text", "text": "I add."}],
        "encrypted_content": "QUJD",
    },
    {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": PATCH, "note": "n"},
    {"type": "function_call_output", "call_id": "c1", "output": "seen", "note": "n"},
    {"type": "local_shell_call_output", "call_id": "c1", "output": {"stdout": "seen"}},
    {"type": "mcp_call", "name": "echo", "arguments": "{}", "output": "seen", "server_label": "s"},
    {"type": "compaction", "encrypted_content": "QUJD"},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a", "annotations": [{"title": "t", "start_index": 0}]}],
        "memo": "sent",
    },
]

Path = tuple[str | int, ...]


def strings(value: object, path: Path = ()) -> Iterator[Path]:
    """The places of all strings in a value."""
    if isinstance(value, str):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from strings(inner, (*path, key))
    for at, inner in enumerate(value) if isinstance(value, list) else ():
        yield from strings(inner, (*path, at))


def changed(body: JsonObject, path: Path, change: Callable[[str], str]) -> JsonObject:
    """A message with another string at one place."""
    copy: Any = json.loads(json.dumps(body))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = change(holder[path[-1]])
    return dict(copy)


CASES = [
    pytest.param(body, path, id=f"{at}:" + ".".join(map(str, path)))
    for at, body in enumerate(MESSAGES)
    for path in strings(body)
    if path[0] not in {"role", "type"}
]


@pytest.mark.parametrize(("body", "path"), CASES)
def test_more_words_in_any_string_cost_more_unless_a_table_says_why_not(body: JsonObject, path: Path) -> None:
    before, after = (measure_message(each) for each in (body, changed(body, path, lambda old: old + WORDS)))
    is_dearer = after.tokens >= before.tokens + 200 and (after.wide or 0) >= (before.wide or 0) + 200
    assert is_dearer or any(name in FREE or name in OPAQUE for name in path)


@pytest.mark.parametrize(
    "body",
    [
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "QUJD"}]},
        {
            "role": "assistant",
            "content": "a",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "Q"}],
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "QUJD"},
        {"type": "compaction", "encrypted_content": "QUJD"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "extra_content": {"google": {"thought_signature": "QUJD"}}}],
        },
    ],
)
def test_what_only_the_provider_can_read_costs_the_tokens_behind_it(body: JsonObject) -> None:
    path = next(path for path in strings(body) if path[-1] in OPAQUE or path[-1] == "data")
    longer = changed(body, path, lambda old: old + "A" * 4_000)
    assert count_message(body) + 990 <= count_message(longer) <= count_message(body) + 1_100


@pytest.mark.parametrize(
    "body",
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "apply_patch", "input": PATCH}}],
        },
        {
            "role": "assistant",
            "content": "a",
            "reasoning_details": [{"type": "reasoning.text", "text": PATCH}],
        },
        {"role": "assistant", "content": "a", "thinking_blocks": [{"type": "thinking", "thinking": PATCH}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": [{"type": "text", "text": PATCH}]}],
        },
        {"role": "assistant", "content": "a", "tool_plan": PATCH},
    ],
)
def test_a_long_text_in_a_seldom_field_costs_what_it_would_cost_as_content(body: JsonObject) -> None:
    assert count_message(body) >= count_text(PATCH)


keys = st.text(min_size=1, max_size=8).filter(lambda key: key not in FREE and key not in OPAQUE)
values = st.recursive(
    st.text(max_size=8) | st.booleans() | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60)
@given(extra=st.dictionaries(keys.filter(lambda key: key not in {"content", "name"}), values, max_size=3))
def test_a_field_that_nobody_knows_counts_as_its_json(extra: JsonObject) -> None:
    body = {"role": "user", "content": "hello", **extra}
    for path in strings(extra):
        longer = changed(body, path, lambda old: old + WORDS)
        assert count_message(longer) >= count_message(body) + 199


def test_an_empty_field_costs_nothing() -> None:
    empty: JsonObject = {
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
        "memo": "",
        "more": {},
    }
    said = {"role": "assistant", "content": "hello"}
    assert count_message({**said, **empty}) == count_message(said)


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "f", "parameters": {"type": "object", "$defs": {"A": {"enum": ["a"]}}}},
        {"name": "f", "parameters": {"properties": {"a": {"type": "string", "pattern": "a"}}}},
        {"name": "f", "input_schema": {"patternProperties": {"a": {"description": "b"}}}},
        {"name": "f", "input_examples": [{"a": "b"}], "input_schema": {}},
        {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"title": "b"}}}}},
        {"type": "custom", "custom": {"name": "f", "format": {"syntax": "lark", "definition": "a"}}},
        {"type": "custom", "name": "f", "format": {"type": "grammar", "definition": "a"}},
        {"type": "mcp", "server_label": "s", "allowed_tools": ["a"], "headers": {"x": "y"}},
    ],
)
def test_a_long_text_anywhere_in_a_tools_definition_counts(tool: JsonObject) -> None:
    for path in strings(tool):
        if path[-1] != "type":
            longer = changed(tool, path, lambda old: old + WORDS)
            assert count_tools([longer]) >= count_tools([tool]) + 150
