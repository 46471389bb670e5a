"""Streams that break off after any of their events: what arrived whole is recorded, and the chat goes on."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from afterturn_client import Afterturn

from context.types import Wire
from context.wire import check_pairs

Stored = Callable[[str], list[dict[str, Any]]]
Events = list[dict[str, Any]]
TEXT = ("It is in ", "hall 3.")
CALLS = {"c1": {"path": "a.md"}, "c2": {}}


def openai() -> Events:
    deltas: list[dict[str, Any]] = [{"role": "assistant"}, *({"content": word} for word in TEXT)]
    for index, (name, arguments) in enumerate(CALLS.items()):
        raw = json.dumps(arguments)
        begun = {"id": name, "type": "function", "function": {"name": "read", "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **begun}]})
        pieces = [raw[:1], raw[1:]]
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": one}}]} for one in pieces]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def anthropic() -> Events:
    def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> Events:
        return [
            {"type": "content_block_start", "index": index, "content_block": begun},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    thought = [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "s"}]
    events = [{"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}}]
    events += block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thought)
    events += block(1, {"type": "text", "text": ""}, *({"type": "text_delta", "text": one} for one in TEXT))
    for index, (name, arguments) in enumerate(CALLS.items(), 2):
        raw = json.dumps(arguments)
        pieces = [{"type": "input_json_delta", "partial_json": one} for one in ("", raw[:1], raw[1:])]
        events += block(index, {"type": "tool_use", "id": name, "name": "read", "input": {}}, *pieces)
    return [
        *events,
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]


def responses() -> Events:
    def item(index: int, whole: dict[str, Any], *between: dict[str, Any]) -> Events:
        begun = {**whole, "status": "in_progress", **({"arguments": ""} if "arguments" in whole else {})}
        return [
            {"type": "response.output_item.added", "output_index": index, "item": begun},
            *between,
            {"type": "response.output_item.done", "output_index": index, "item": whole},
        ]

    def words(index: int) -> Events:
        return [{"type": "response.output_text.delta", "output_index": index, "delta": one} for one in TEXT]

    said = {"type": "message", "id": "m1", "role": "assistant", "content": []}
    told = {**said, "content": [{"type": "output_text", "text": "".join(TEXT)}]}
    events = [{"type": "response.created", "response": {"object": "response", "output": []}}]
    events += item(0, {"type": "reasoning", "id": "r1", "summary": []})
    events += item(1, told, *words(1))
    events[4]["item"] = {**said, "status": "in_progress"}
    for index, (name, arguments) in enumerate(CALLS.items(), 2):
        call = {"type": "function_call", "id": f"f{name}", "call_id": name, "name": "read"}
        delta = {"type": "response.function_call_arguments.delta", "output_index": index, "delta": "{"}
        events += item(index, {**call, "arguments": json.dumps(arguments)}, delta)
    return [
        *events,
        {"type": "response.completed", "response": {"object": "response", "status": "completed"}},
    ]


STREAMS: dict[str, Callable[[], Events]] = {
    "openai": openai,
    "anthropic": anthropic,
    "responses": responses,
}


def broken(events: Events, after: int) -> Iterator[dict[str, Any]]:
    yield from events[:after]
    raise ConnectionError("the line is cut")


def parts(messages: Events) -> tuple[str, dict[str, Any]]:
    """The words of an answer, and its calls with their arguments."""
    text, calls = "", dict[str, Any]()
    for message in messages[1:]:
        content = message.get("content") or []
        blocks = [{"text": content}] if isinstance(content, str) else content
        text += "".join(block.get("text") or "" for block in blocks)
        calls |= {one["id"]: one["input"] for one in blocks if one.get("type") == "tool_use"}
        made = message.get("tool_calls") or []
        calls |= {one["id"]: json.loads(one["function"]["arguments"]) for one in made}
        if message.get("type") == "function_call":
            calls[message["call_id"]] = json.loads(message["arguments"])
    return text, calls


@pytest.mark.parametrize("wire", STREAMS)
def test_a_stream_that_breaks_off_anywhere_leaves_whole_calls_and_the_words_so_far(
    client: Afterturn, session_id: str, stored: Stored, wire: str
) -> None:
    events = STREAMS[wire]()
    chat = client.chat(session_id, model="m", wire=wire)  # type: ignore[arg-type]  # a key of the table
    for after in range(len(events)):
        with pytest.raises(ConnectionError, match="the line is cut"), chat.turn(f"Try {after}") as turn:
            turn.add(broken(events, after))
        assert turn.abandoned, after
    with chat.turn("Now?") as turn:
        turn.add(iter(events))
    assert turn.abandoned == bool(turn.calls)
    kept = [parts(one["messages"]) for one in stored(session_id)]
    assert kept[-1] == ("".join(TEXT), CALLS)
    for (text, calls), (more, further) in pairwise(kept):
        assert more.startswith(text)
        assert further.items() >= calls.items()
    assert {len(calls) for _, calls in kept} == {0, 1, 2}
    window = chat.context([{"role": "user", "content": "And?"}]).messages
    assert check_pairs(window, Wire(wire)) == []
