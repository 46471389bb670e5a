"""Removal of tool calls and results from one message, in its own wire format."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from context.types import JsonObject, Message, Wire

Occurrence = tuple[str, int]
"""An id, and its number among equal ids of the message: 0 for the first."""

_Keep = Callable[[object], bool]

_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
_LEGACY_PREFIX = "function_call:"


def without_calls(message: Message, call_ids: Collection[str]) -> Message | None:
    """Remove tool calls from a message.

    Args:
        message: A message, perhaps with calls.
        call_ids: The calls to remove.

    Returns:
        The remaining message; None when nothing sendable is left. Tokens stay unchanged: an upper bound until
        counted again.
    """
    return without(message, calls=_all_of(message.call_ids, call_ids), answers=frozenset())


def without_answers(message: Message, call_ids: Collection[str]) -> Message | None:
    """Remove tool results from a message.

    Args:
        message: A message, perhaps with results.
        call_ids: The calls whose results to remove.

    Returns:
        As `without_calls`.
    """
    return without(message, calls=frozenset(), answers=_all_of(message.answer_ids, call_ids))


def without(
    message: Message, *, calls: AbstractSet[Occurrence], answers: AbstractSet[Occurrence]
) -> Message | None:
    """Remove certain calls and results from a message, each named by id and occurrence.

    Args:
        message: A message in any wire format.
        calls: The calls to remove.
        answers: The results to remove.

    Returns:
        As `without_calls`; the same message when there is nothing to remove.
    """
    if not calls and not answers:
        return message
    body = _EDIT[message.wire](message.body, _all_but(calls), _all_but(answers))
    if body is None:
        return None
    return replace(
        message,
        raw=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        call_ids=tuple(filter(_all_but(calls), message.call_ids)),
        answer_ids=tuple(filter(_all_but(answers), message.answer_ids)),
    )


def only_answers(message: Message, answers: AbstractSet[Occurrence]) -> Message:
    """Remove everything but certain results from an Anthropic message, words too.

    Args:
        message: A message of the Anthropic format with results.
        answers: The results to keep, at least one of the message's own.

    Returns:
        A copy; tokens stay unchanged.
    """
    keep = _all_but(frozenset(number_occurrences(message.answer_ids)) - answers)
    content = message.body.get("content")
    results = [block for block in content or () if str(_member(block, "type")).endswith("tool_result")]
    kept = [block for block in results if keep(_member(block, "tool_use_id"))]
    raw = json.dumps({**message.body, "content": kept}, ensure_ascii=False, separators=(",", ":"))
    ids = tuple(one[0] for one in number_occurrences(message.answer_ids) if one in answers)
    return replace(message, raw=raw, answer_ids=ids)


def number_occurrences(ids: Iterable[str]) -> list[Occurrence]:
    """Number equal ids: each id with the count of equal ids before it."""
    seen: Counter[str] = Counter()
    numbered = []
    for call_id in ids:
        numbered.append((call_id, seen[call_id]))
        seen[call_id] += 1
    return numbered


def is_reasoning_item(message: Message) -> bool:
    """Say whether a message is a Responses reasoning item, refused without the item after the reasoning."""
    return message.wire is Wire.RESPONSES and message.body.get("type") == "reasoning"


def _all_of(ids: Iterable[str], chosen: Collection[str]) -> AbstractSet[Occurrence]:
    return frozenset(occurrence for occurrence in number_occurrences(ids) if occurrence[0] in chosen)


def _all_but(dropped: AbstractSet[Occurrence]) -> _Keep:
    """Make a filter to call for each id of a message, in order."""
    seen: Counter[str] = Counter()

    def keep(call_id: object) -> bool:
        if not isinstance(call_id, str):
            return True
        occurrence = seen[call_id]
        seen[call_id] += 1
        return (call_id, occurrence) not in dropped

    return keep


def _edit_openai(body: JsonObject, keep_call: _Keep, keep_answer: _Keep) -> JsonObject | None:
    if body.get("role") in {"tool", "function"}:
        return body if keep_answer(_answered_id(body)) else None
    edited = dict(body)
    if isinstance(body.get("tool_calls"), list):
        calls = [call for call in body["tool_calls"] if keep_call(_member(call, "id"))]
        edited["tool_calls"] = _signed_first(body["tool_calls"], calls)
        if not calls:
            del edited["tool_calls"]
    if body.get("function_call") and not keep_call(
        f"{_LEGACY_PREFIX}{_member(body['function_call'], 'name')}"
    ):
        del edited["function_call"]
    parts = ("tool_calls", "function_call", "refusal", "audio")
    says = _says_something(edited.get("content")) or any(edited.get(part) for part in parts)
    return edited if says else None


def _signed_first(calls: list[JsonObject], kept: list[JsonObject]) -> list[JsonObject]:
    """Keep the thought signature of parallel calls: Gemini signs the first call alone."""
    signed = next((call for call in calls if _is_signed(call)), None)
    if not kept or signed is None or any(map(_is_signed, kept)):
        return kept
    return [{**kept[0], "extra_content": signed["extra_content"]}, *kept[1:]]


def _is_signed(call: object) -> bool:
    google = _member(_member(call, "extra_content"), "google")
    return bool(_member(google, "thought_signature"))


def _answered_id(body: JsonObject) -> object:
    if body.get("role") == "function":
        return f"{_LEGACY_PREFIX}{body.get('name')}"
    return body.get("tool_call_id")


def _edit_anthropic(body: JsonObject, keep_call: _Keep, keep_answer: _Keep) -> JsonObject | None:
    content = body.get("content")
    if not isinstance(content, list):
        return body if _says_something(content) else None
    blocks = [block for block in content if _keeps_block(block, keep_call, keep_answer)]
    spoken = [block for block in blocks if _member(block, "type") not in _THINKING_TYPES]
    return {**body, "content": blocks} if _says_something(spoken) else None


def _keeps_block(block: object, keep_call: _Keep, keep_answer: _Keep) -> bool:
    kind = str(_member(block, "type"))
    if kind.endswith("tool_use"):
        return keep_call(_member(block, "id"))
    if kind.endswith("tool_result"):
        return keep_answer(_member(block, "tool_use_id"))
    return True


def _edit_responses(body: JsonObject, keep_call: _Keep, keep_answer: _Keep) -> JsonObject | None:
    """Keep or drop the whole item: an item is one call, or one result."""
    ids = [body.get(key) for key in ("call_id", "id", "approval_request_id")]
    return body if all(map(keep_call, ids)) and all(map(keep_answer, ids)) else None


def _says_something(content: object) -> bool:
    """Say whether content holds more than blank text."""
    if isinstance(content, str):
        return bool(content.strip())
    if not isinstance(content, list):
        return False
    return any(_member(block, "type") != "text" or str(_member(block, "text")).strip() for block in content)


def _member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


_EDIT: dict[Wire, Callable[[JsonObject, _Keep, _Keep], JsonObject | None]] = {
    Wire.OPENAI: _edit_openai,
    Wire.ANTHROPIC: _edit_anthropic,
    Wire.RESPONSES: _edit_responses,
}
