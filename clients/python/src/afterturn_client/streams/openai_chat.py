"""OpenAI chat completions: whole answers and streams of chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from afterturn_client.streams.answer import Answer, Json, ToolCall, without_empty

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
"""Members of a delta that are joined."""


def read_completion(body: Mapping[str, Any]) -> Answer:
    """Read a whole completion; of several choices, the first."""
    choices = body.get("choices") or []
    message = dict(choices[0].get("message") or {}) if choices else {}
    finish = choices[0].get("finish_reason") if choices else None
    return read_message(message, usage=body.get("usage"), model=body.get("model"), finish=finish)


def read_message(
    message: Mapping[str, Any],
    *,
    usage: Json | None = None,
    model: str | None = None,
    finish: str | None = None,
    complete: bool = True,
) -> Answer:
    """Read an assistant's message; calls with cut arguments are left out where the answer broke off."""
    kept = without_empty(message)
    calls = [_call(call) for call in kept.get("tool_calls", [])]
    if not complete:
        whole = [raw for raw in kept.get("tool_calls", []) if _is_whole(raw)]
        kept = without_empty({**kept, "tool_calls": whole})
        calls = [_call(call) for call in whole]
    if "content" not in kept and ("tool_calls" in kept or "function_call" in kept):
        kept["content"] = None
    says = any(kept.get(name) for name in ("content", "tool_calls", "function_call", "refusal", "audio"))
    kept.setdefault("role", "assistant")
    content = kept.get("content")
    return Answer(
        "openai",
        [kept] if says else [],
        content if isinstance(content, str) else "",
        calls,
        usage,
        model,
        finish,
        complete,
    )


def _call(raw: Mapping[str, Any]) -> ToolCall:
    function = raw.get("function") or {}
    custom = raw.get("custom") or {}
    name = str(function.get("name") or custom.get("name") or "")
    return ToolCall(
        str(raw.get("id") or ""), name, str(function.get("arguments") or custom.get("input") or "")
    )


def _is_whole(raw: Mapping[str, Any]) -> bool:
    """Tell whether a call's arguments arrived to their end."""
    try:
        json.loads(_call(raw).arguments)
    except ValueError:
        return False
    return bool(raw.get("id")) and bool(_call(raw).name)


class ChatStream:
    """Puts the chunks of a chat completion together."""

    def __init__(self) -> None:
        """Begin without any chunk."""
        self._message: Json = {"role": "assistant"}
        self._calls: dict[int, Json] = {}
        self._usage: Json | None = None
        self._model: str | None = None
        self._finish: str | None = None

    def feed(self, event: Json) -> None:
        """Take the next chunk."""
        self._usage = event.get("usage") or self._usage
        self._model = event.get("model") or self._model
        for choice in event.get("choices") or []:
            if choice.get("index", 0) == 0:
                self._take(choice.get("delta") or {})
                self._finish = choice.get("finish_reason") or self._finish

    def _take(self, delta: Mapping[str, Any]) -> None:
        for name in _TEXTS:
            if isinstance(delta.get(name), str):
                self._message[name] = self._message.get(name, "") + delta[name]
        for piece in delta.get("tool_calls") or []:
            _join_call(self._calls.setdefault(piece.get("index") or 0, {}), piece)

    def answer(self) -> Answer:
        """Build the answer of all chunks so far."""
        calls = [self._calls[index] for index in sorted(self._calls)]
        message = {**self._message, "tool_calls": calls}
        message = {name: value for name, value in message.items() if value != ""}
        return read_message(
            message,
            usage=self._usage,
            model=self._model,
            finish=self._finish,
            complete=self._finish is not None,
        )


def _join_call(call: Json, piece: Mapping[str, Any]) -> None:
    """Add a piece to a call: ids and names come once, arguments in pieces."""
    call["id"] = call.get("id") or piece.get("id")
    call["type"] = call.get("type") or piece.get("type") or "function"
    for kind, growing in (("function", "arguments"), ("custom", "input")):
        part = piece.get(kind)
        if part:
            body = call.setdefault(kind, {"name": "", growing: ""})
            body["name"] = body["name"] or part.get("name") or ""
            body[growing] += part.get(growing) or ""
