"""Answers of the scripted model in other formats: Anthropic messages and OpenAI Responses."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from context.types import JsonObject
from llm.scripted.answers import cut_text

_WORDS = 4
_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


@dataclass(frozen=True)
class Dialect:
    """A format of a provider.

    Attributes:
        convert: Makes the body of an answer of a chat completion.
        stream: Cuts such a body into events.
    """

    convert: Callable[[Mapping[str, Any]], JsonObject]
    stream: Callable[[JsonObject], list[JsonObject]]


def _anthropic(completion: Mapping[str, Any]) -> JsonObject:
    blocks: list[JsonObject] = []
    finish = "stop"
    for choice in completion["choices"]:
        message, finish = choice["message"], choice["finish_reason"]
        blocks += [{"type": "text", "text": message["content"]}] if message.get("content") else []
        for call in message.get("tool_calls", []):
            arguments = json.loads(call["function"]["arguments"])
            name = call["function"]["name"]
            blocks.append({"type": "tool_use", "id": call["id"], "name": name, "input": arguments})
    usage = completion["usage"]
    return {
        "id": completion["id"].replace("chatcmpl", "msg"),
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": blocks,
        "stop_reason": _STOP.get(finish, "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def _anthropic_events(message: JsonObject) -> list[JsonObject]:
    start = {**message, "content": [], "stop_reason": None}
    events: list[JsonObject] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        kind, member = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
        text = block["text"] if is_text else json.dumps(block["input"])
        for piece in cut_text(text, _WORDS if is_text else 1):
            delta = {"type": kind, member: piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    return [*events, {"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]


def _responses(completion: Mapping[str, Any]) -> JsonObject:
    items: list[JsonObject] = []
    for choice in completion["choices"]:
        message = choice["message"]
        if message.get("content"):
            part = {"type": "output_text", "text": message["content"], "annotations": []}
            name = f"msg_{completion['id']}"
            said = {"type": "message", "id": name, "role": "assistant", "status": "completed"}
            items.append({**said, "content": [part]})
        items += [
            {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], **call["function"]}
            for call in message.get("tool_calls", [])
        ]
    usage = completion["usage"]
    return {
        "id": completion["id"].replace("chatcmpl", "resp"),
        "object": "response",
        "created_at": completion["created"],
        "model": completion["model"],
        "status": "completed",
        "output": items,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
            "total_tokens": usage["total_tokens"],
        },
    }


def _responses_events(response: JsonObject) -> list[JsonObject]:
    begun = {**response, "output": [], "status": "in_progress", "usage": None}
    events: list[JsonObject] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        is_text = item["type"] == "message"
        empty = {**item, "content": []} if is_text else {**item, "arguments": ""}
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        text = item["content"][0]["text"] if is_text else item["arguments"]
        kind = "response.output_text.delta" if is_text else "response.function_call_arguments.delta"
        events += [{"type": kind, **at, "content_index": 0, "delta": part} for part in cut_text(text, _WORDS)]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


DIALECTS = {
    "/v1/messages": Dialect(_anthropic, _anthropic_events),
    "/v1/responses": Dialect(_responses, _responses_events),
}
"""Dialects by path; every other path speaks chat completions."""
