"""Changes to one message in its own wire format: calls and results removed, speakers labelled."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from context.text.cut import name_on_one_line
from context.tokens.message import recounted
from context.types import JsonObject, Message, Role, Wire
from context.wire.format import Keep
from context.wire.formats import format_of
from context.wire.neutral import dump, member

Occurrence = tuple[str, int]
"""An id, and its number among equal ids of the message: 0 for the first."""


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
    body = format_of(message.wire).edit(message.body, _all_but(calls), _all_but(answers))
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
    results = [block for block in content or () if str(member(block, "type")).endswith("tool_result")]
    kept = [block for block in results if keep(member(block, "tool_use_id"))]
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
    return format_of(message.wire).is_list_of_items and message.body.get("type") == "reasoning"


def _all_of(ids: Iterable[str], chosen: Collection[str]) -> AbstractSet[Occurrence]:
    return frozenset(occurrence for occurrence in number_occurrences(ids) if occurrence[0] in chosen)


def _all_but(dropped: AbstractSet[Occurrence]) -> Keep:
    """Make a filter to call for each id of a message, in order."""
    seen: Counter[str] = Counter()

    def keep(call_id: object) -> bool:
        if not isinstance(call_id, str):
            return True
        occurrence = seen[call_id]
        seen[call_id] += 1
        return (call_id, occurrence) not in dropped

    return keep


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""A name accepted by every provider beside the role of a chat message."""


def with_speakers(messages: Iterable[Message]) -> list[Message]:
    """Label the words of users with the speakers named beside their turns.

    A name is written beside the role if the format has a place for it and takes its letters, else before the
    words. A message that already names its speaker stays as it is, so that nothing is labelled twice.

    Args:
        messages: Stored messages.

    Returns:
        The same messages in their order; the labelled ones are counted anew.
    """
    return [_labelled(message) for message in messages]


def _labelled(message: Message) -> Message:
    speaker = name_on_one_line(message.speaker or "")
    label = f"{speaker}:"
    if not speaker or message.role is not Role.USER or message.answer_ids:
        return message
    content = message.body.get("content")
    if message.body.get("name") or not content or _first_words(content).startswith(label):
        return message
    form = format_of(message.wire)
    is_plain = isinstance(content, str) and message.body.keys() == {"role", "content"}
    if _NAME.fullmatch(speaker) and (form.is_chat or is_plain):
        named = {"role": "user", "name": speaker, **message.body}
        return recounted(replace(message, raw=dump(named), wire=Wire.OPENAI))
    labelled = (
        f"{label} {content}"
        if isinstance(content, str)
        else [{"type": form.user_text, "text": label}, *content]
    )
    return recounted(replace(message, raw=dump({**message.body, "content": labelled})))


def _first_words(content: str | list[JsonObject]) -> str:
    """Read the words at the beginning of a message; the words of a first part."""
    return content if isinstance(content, str) else str(content[0].get("text", ""))
