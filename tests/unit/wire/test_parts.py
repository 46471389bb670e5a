"""What messages say, in each wire format's own words."""

import json
from typing import Any

import pytest

from context.types import Message, Role, Wire
from context.wire.parts import MessagePart, PartKind, read_parts


def parts(body: dict[str, Any], role: Role = Role.ASSISTANT) -> list[MessagePart]:
    return list(read_parts(Message(1, role, 0, json.dumps(body), wire=Wire.OPENAI)))


def test_words_come_as_text_or_as_blocks() -> None:
    assert parts({"content": "Hi."}) == [MessagePart(PartKind.TEXT, "Hi.")]
    assert parts({"content": [{"type": "text", "text": "Hi."}]}) == [MessagePart(PartKind.TEXT, "Hi.")]
    assert parts({"content": [{"type": "output_text", "text": "Hi."}]}) == [MessagePart(PartKind.TEXT, "Hi.")]


@pytest.mark.parametrize("content", [None, "", "  ", [], [{}], [None], {"text": 5}, [{"type": "text"}]])
def test_no_words_are_no_part(content: object) -> None:
    assert parts({"role": "user", "content": content}, Role.USER) == []


def test_a_refusal_is_words() -> None:
    assert parts({"content": None, "refusal": "I won't."}) == [MessagePart(PartKind.TEXT, "I won't.")]


def test_parallel_calls_keep_their_order_and_ids() -> None:
    made = [
        {"id": str(n), "type": "function", "function": {"name": f"f{n}", "arguments": "{}"}} for n in range(3)
    ]
    found = parts({"content": None, "tool_calls": made})
    assert [(part.kind, part.name, part.call_id) for part in found] == [
        (PartKind.CALL, f"f{n}", str(n)) for n in range(3)
    ]


def test_a_providers_own_tool_has_call_and_result_in_one_message() -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "bash", "input": {"command": "ls"}},
        {
            "type": "bash_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "r", "stdout": "a.csv", "return_code": 1},
        },
    ]
    call, result = parts({"content": blocks})
    assert (call.text, call.call_id) == ('{"command": "ls"}', "s1")
    assert (result.text, result.failed, result.call_id) == ("a.csv", True, "s1")


@pytest.mark.parametrize(
    ("block", "failed"),
    [({"is_error": True}, True), ({"is_error": False}, False), ({}, None), ({"status": "failed"}, True)],
)
def test_a_result_fails_when_its_message_says_so(block: dict[str, Any], failed: bool | None) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x", **block}
    assert parts({"content": [result]}, Role.USER)[0].failed is failed


def test_a_document_that_holds_words_is_read() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "The plan is simple."}
    document = {"type": "document", "title": "Plan", "source": source}
    assert [part.text for part in parts({"content": [document]}, Role.USER)] == [
        "document Plan",
        "The plan is simple.",
    ]


def test_a_fetched_page_is_read() -> None:
    page = {
        "type": "web_fetch_result",
        "content": {"type": "document", "title": "T", "source": {"type": "text", "data": "Words"}},
    }
    result = {"type": "web_fetch_tool_result", "tool_use_id": "s", "content": page}
    assert parts({"content": [result]})[0].text == "[document T]\nWords"


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking", "reasoning"])
def test_thinking_is_not_said(kind: str) -> None:
    assert parts({"type": kind, "thinking": "x", "summary": [{"type": "summary_text", "text": "x"}]}) == []
    assert parts({"content": [{"type": kind, "thinking": "x", "data": "x"}]}) == []


def test_deeply_nested_output_ends_as_json() -> None:
    output: Any = "core"
    for _ in range(40):
        output = [output]
    assert "core" in parts({"role": "tool", "tool_call_id": "c", "content": output}, Role.TOOL)[0].text
