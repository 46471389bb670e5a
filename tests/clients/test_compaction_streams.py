"""Compactions in the answers of providers: the client hands them on as they came, streamed or whole."""

from typing import Any

import pytest
from afterturn_client.streams.anthropic import MessageStream, read_message

NOTES = "The crane stands in hall 4."
EDITS = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3, "cleared_input_tokens": 50_000}]


def events(block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """A stream of an answer that begins with a block, then says a word."""
    said = {"type": "text_delta", "text": "Hall 4."}
    return [
        {"type": "message_start", "message": {"model": "claude-opus-4-6", "usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": said},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 3},
            "context_management": {"applied_edits": EDITS},
        },
        {"type": "message_stop"},
    ]


def streamed(sent: list[dict[str, Any]]) -> Any:
    stream = MessageStream()
    for event in sent:
        stream.feed(event)
    return stream.answer()


@pytest.mark.parametrize(
    ("begun", "deltas"),
    [
        ({"type": "compaction", "content": None}, [{"type": "compaction_delta", "content": NOTES}]),
        ({"type": "compaction", "content": NOTES, "signature": "EuYB"}, []),
        (
            {"type": "compaction", "content": None, "encrypted_content": None},
            [{"type": "compaction_delta", "content": NOTES, "encrypted_content": "gAAA"}],
        ),
    ],
)
def test_a_streamed_compaction_is_the_whole_one(begun: dict[str, Any], deltas: list[dict[str, Any]]) -> None:
    sealed = {name: value for delta in deltas for name, value in delta.items() if name == "encrypted_content"}
    block = {name: value for name, value in {**begun, **sealed, "content": NOTES}.items() if value}
    text = {"type": "text", "text": "Hall 4."}
    usage = {"input_tokens": 9, "output_tokens": 3}
    body = {"content": [block, text], "usage": usage, "context_management": {"applied_edits": EDITS}}
    whole, piecewise = read_message(body), streamed(events(begun, *deltas))
    assert piecewise.messages == whole.messages == [{"role": "assistant", "content": [block, text]}]
    assert piecewise.usage == whole.usage == {**usage, "context_management": {"applied_edits": EDITS}}


def test_an_answer_without_edits_has_its_usage_as_it_came() -> None:
    usage = {"input_tokens": 9}
    assert read_message({"content": [], "usage": usage, "context_management": None}).usage == usage
