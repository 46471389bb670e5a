"""Anthropic messages: whole answers and streams of events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from afterturn_client.streams.answer import Answer, Json, ToolCall

_GROWING = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "compaction_delta": ("content", "content"),
}
"""Deltas and the members of block and delta that they join."""


def read_message(body: Mapping[str, Any], *, complete: bool = True) -> Answer:
    """Read a whole message."""
    blocks = [_block(block) for block in body.get("content") or []]
    return Answer(
        "anthropic",
        [{"role": "assistant", "content": blocks}] if blocks else [],
        "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text"),
        [_call(block) for block in blocks if block.get("type") == "tool_use"],
        _usage(body),
        body.get("model"),
        body.get("stop_reason"),
        complete,
    )


def _usage(body: Mapping[str, Any]) -> Json | None:
    """Read the usage, with the edits by which the provider read less than was sent."""
    usage, edits = body.get("usage"), (body.get("context_management") or {}).get("applied_edits")
    return {**usage, "context_management": {"applied_edits": edits}} if usage and edits else usage


def _block(block: Mapping[str, Any]) -> Json:
    """Keep a block as the next request takes it; what a library adds for itself stays out."""
    return {key: value for key, value in block.items() if value is not None and key != "parsed_output"}


def _call(block: Mapping[str, Any]) -> ToolCall:
    return ToolCall(str(block.get("id")), str(block.get("name")), json.dumps(block.get("input") or {}))


class MessageStream:
    """Puts the events of a message together."""

    def __init__(self) -> None:
        """Begin without any event."""
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._inputs: dict[int, str] = {}
        self._closed: set[int] = set()
        self._is_whole = False

    def feed(self, event: Json) -> None:
        """Take the next event."""
        kind, index = event.get("type"), event.get("index", 0)
        if kind == "message_start":
            self._message = dict(event.get("message") or {})
        elif kind == "content_block_start":
            self._blocks[index] = dict(event.get("content_block") or {})
        elif kind == "content_block_delta":
            self._grow(index, event.get("delta") or {})
        elif kind == "content_block_stop":
            self._closed.add(index)
        elif kind == "message_delta":
            self._message.update(event.get("delta") or {})
            told = {name: value for name, value in (event.get("usage") or {}).items() if value is not None}
            self._message["usage"] = {**(self._message.get("usage") or {}), **told}
            if event.get("context_management"):
                self._message["context_management"] = event["context_management"]
        elif kind == "message_stop":
            self._is_whole = True

    def _grow(self, index: int, delta: Mapping[str, Any]) -> None:
        block, kind = self._blocks.setdefault(index, {}), delta.get("type")
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + str(delta.get("partial_json") or "")
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
        elif kind in _GROWING:
            to, part = _GROWING[str(kind)]
            block[to] = str(block.get(to) or "") + str(delta.get(part) or "")
            if delta.get("encrypted_content"):
                block["encrypted_content"] = delta["encrypted_content"]

    def answer(self) -> Answer:
        """Build the answer of all events so far; blocks that cannot be sent back are left out."""
        blocks = [self._read(index) for index in sorted(self._blocks)]
        body = {**self._message, "content": [block for block in blocks if block]}
        return read_message(body, complete=self._is_whole)

    def _read(self, index: int) -> Json | None:
        block, raw = dict(self._blocks[index]), self._inputs.get(index)
        if raw is not None:
            try:
                block["input"] = json.loads(raw or "{}")
            except ValueError:
                return None
        is_open = index not in self._closed
        if block.get("type") == "text":
            return block if block.get("text") else None
        return None if is_open else block
