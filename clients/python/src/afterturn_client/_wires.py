"""Facts of messages by format: how a user speaks, calls and their results, and where a turn begins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from afterturn_client.streams.answer import Json, Wire

_RESULT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_RESULTS = frozenset(_RESULT_OF.values())
_BYTES_PER_TOKEN = 3
"""A low number for every script, so that an estimate is rather too high."""

_MESSAGE_TOKENS = 8


def user_messages(said: str | Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[Json]:
    """Read the words of a user: text, a message, or several messages. All formats agree on the first."""
    if isinstance(said, str):
        return [{"role": "user", "content": said}]
    if isinstance(said, Mapping):
        return [dict(said)]
    return [dict(message) for message in said]


def tool_result(
    wire: Wire, call_id: str, content: Any, *, is_error: bool = False, turn: Iterable[Mapping[str, Any]] = ()
) -> Json:
    """Write the result of a tool call.

    Args:
        wire: The format.
        call_id: The call.
        content: Text, or parts of the format.
        is_error: Whether the tool failed; told in the format of Anthropic, which has a place for the flag.
        turn: Messages so far, in which the kind of the call is found.
    """
    if wire == "anthropic":
        block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return {"role": "user", "content": [{**block, "is_error": True} if is_error else block]}
    if wire == "responses":
        kinds = [str(item.get("type")) for item in turn if item.get("call_id") == call_id]
        kind = _RESULT_OF.get(kinds[0], "function_call_output") if kinds else "function_call_output"
        return {"type": kind, "call_id": call_id, "output": content}
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def call_ids(message: Mapping[str, Any], wire: Wire) -> list[str]:
    """List the ids of the calls that a message makes and that need results."""
    if wire == "responses":
        return [str(message.get("call_id"))] if message.get("type") in _RESULT_OF else []
    if wire == "anthropic":
        return [str(block.get("id")) for block in _blocks(message) if block.get("type") == "tool_use"]
    return [str(call.get("id")) for call in message.get("tool_calls") or []]


def answer_ids(message: Mapping[str, Any], wire: Wire) -> list[str]:
    """List the ids of the calls that a message answers."""
    if wire == "responses":
        return [str(message.get("call_id"))] if message.get("type") in _RESULTS else []
    if wire == "anthropic":
        return [
            str(block.get("tool_use_id")) for block in _blocks(message) if block.get("type") == "tool_result"
        ]
    return [str(message.get("tool_call_id"))] if message.get("role") == "tool" else []


def starts_turn(message: Mapping[str, Any], wire: Wire) -> bool:
    """Tell whether a user speaks, rather than a tool."""
    return message.get("role") == "user" and not answer_ids(message, wire)


def open_calls(messages: Iterable[Mapping[str, Any]], wire: Wire) -> list[str]:
    """List the ids of calls without a result, in order."""
    made: dict[str, None] = {}
    for message in messages:
        for answered in answer_ids(message, wire):
            made.pop(answered, None)
        made.update(dict.fromkeys(call_ids(message, wire)))
    return list(made)


def cut_turns(messages: Iterable[Json], wire: Wire) -> list[list[Json]]:
    """Cut a list of messages into turns; leading messages of the system are no part of any."""
    turns: list[list[Json]] = []
    for message in messages:
        if message.get("role") in ("system", "developer") and not turns:
            continue
        if not turns or starts_turn(message, wire):
            turns.append([])
        turns[-1].append(message)
    return turns


def whole_pairs(turn: Sequence[Json], wire: Wire) -> list[Json]:
    """Take calls without results, and results without calls, out of a turn."""
    lost = set(open_calls(turn, wire))
    made = {made for message in turn for made in call_ids(message, wire)} - lost
    kept: list[Json] = []
    for message in turn:
        calls, answers = call_ids(message, wire), answer_ids(message, wire)
        if not lost.intersection(calls) and made.issuperset(answers):
            kept.append(message)
            continue
        if wire == "responses":
            while kept and kept[-1].get("type") == "reasoning":
                kept.pop()  # reasoning goes with the call that followed
            continue
        left = _without(message, wire, lost, made)
        if left:
            kept.append(left)
    return kept


def _without(message: Json, wire: Wire, lost: set[str], made: set[str]) -> Json | None:
    if wire == "openai":
        calls = [call for call in message.get("tool_calls") or [] if str(call.get("id")) not in lost]
        left = {name: value for name, value in message.items() if name != "tool_calls"}
        left = {**left, "tool_calls": calls} if calls else left
        return left if message.get("role") != "tool" and (calls or left.get("content")) else None
    blocks = [
        block
        for block in _blocks(message)
        if not (block.get("type") == "tool_use" and str(block.get("id")) in lost)
        and not (block.get("type") == "tool_result" and str(block.get("tool_use_id")) not in made)
    ]
    says = any(block.get("type") not in ("thinking", "redacted_thinking") for block in blocks)
    return {**message, "content": blocks} if says else None


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def estimate_tokens(messages: Iterable[Any]) -> int:
    """Estimate tokens by bytes, without a tokenizer."""
    return sum(_MESSAGE_TOKENS + _bytes(message) // _BYTES_PER_TOKEN for message in messages)


def _bytes(value: Any) -> int:
    """Count the bytes of all text within a value."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        return sum(len(str(key)) + _bytes(member) + 2 for key, member in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_bytes, value))
    return len(str(value))
