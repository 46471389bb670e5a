"""OpenAI Responses: whole answers and streams of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afterturn_client.streams.answer import Answer, Json, ToolCall, without_empty

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OTHER_CALLS = ("computer_call", "local_shell_call", "shell_call", "apply_patch_call")
_LAST = {"response.completed": True, "response.incomplete": True, "response.failed": False}


def read_response(body: Mapping[str, Any], *, complete: bool = True) -> Answer:
    """Read a whole response: every item of its output."""
    items = [_item(item) for item in body.get("output") or []]
    return Answer(
        "responses",
        items,
        "".join(_words(item) for item in items),
        [_call(item) for item in items if item.get("type") in (*_CALLS, *_OTHER_CALLS)],
        body.get("usage"),
        body.get("model"),
        body.get("status") if complete else None,
        complete,
    )


def _item(item: Mapping[str, Any]) -> Json:
    """Keep an item as the next input takes it; what a library adds for itself stays out."""
    kept = {key: value for key, value in item.items() if value is not None and key != "parsed_arguments"}
    if kept.get("type") == "message":
        kept["content"] = [
            {key: value for key, value in without_empty(part).items() if key != "parsed"}
            for part in kept.get("content") or []
        ]
    return kept


def _words(item: Mapping[str, Any]) -> str:
    if item.get("type") != "message":
        return ""
    return "".join(str(part.get("text") or "") for part in item.get("content") or [])


def _call(item: Mapping[str, Any]) -> ToolCall:
    words = item.get(_CALLS.get(str(item["type"]), "arguments")) or ""
    return ToolCall(str(item.get("call_id") or ""), str(item.get("name") or item["type"]), str(words))


class ResponsesStream:
    """Puts the events of a response together."""

    def __init__(self) -> None:
        """Begin without any event."""
        self._items: dict[int, Json] = {}
        self._done: set[int] = set()
        self._text: dict[int, str] = {}
        self._response: Json = {}
        self._whole: bool | None = None

    def feed(self, event: Json) -> None:
        """Take the next event."""
        kind, index = event.get("type"), event.get("output_index", 0)
        if kind in ("response.created", "response.in_progress", *_LAST):
            self._response = dict(event.get("response") or {})
            self._whole = _LAST.get(str(kind), self._whole)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._items[index] = dict(event.get("item") or {})
            if kind == "response.output_item.done":
                self._done.add(index)
        elif kind == "response.output_text.delta":
            self._text[index] = self._text.get(index, "") + str(event.get("delta") or "")

    def answer(self) -> Answer:
        """Build the answer of all events so far; without the last event, unfinished calls are left out."""
        if self._whole and self._response.get("output"):
            return read_response(self._response)
        items = [item for index in sorted(self._items) for item in self._part(index)]
        while items and items[-1].get("type") == "reasoning":
            items.pop()  # the item that followed is missing, and a provider takes neither alone
        return read_response({**self._response, "output": items}, complete=bool(self._whole))

    def _part(self, index: int) -> list[Json]:
        item = self._items[index]
        if index in self._done:
            return [item]
        text = self._text.get(index, "")
        if item.get("type") != "message" or not text:
            return []
        return [{**item, "status": "incomplete", "content": [{"type": "output_text", "text": text}]}]
