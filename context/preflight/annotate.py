"""Hint in a window, at the system prompt's end or in a block of its own, if the request wants a hint."""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from context.message_counts import recounted
from context.types import JsonObject, Message, Wire


class HintPlace(StrEnum):
    """Places for the hint: the answer alone, the system prompt, or before users' words."""

    FIELD = "field"
    SYSTEM = "system"
    BLOCK = "block"


_TEXT_TYPES = {Wire.OPENAI: "text", Wire.ANTHROPIC: "text", Wire.RESPONSES: "input_text"}


def annotate(messages: Sequence[Message], hint: str | None) -> list[Message]:
    """Put a hint before the words of the last message at the start of a turn, in a separate block.

    The user's words stay unchanged, so that a store of the sent text can tell both apart.

    Args:
        messages: The new messages of a request, in order.
        hint: One line; None or blank for none.

    Returns:
        The messages, the changed message counted anew; the same objects without a hint or a user's message.
    """
    found = list(messages)
    place = next((i for i in reversed(range(len(found))) if found[i].starts_turn), None)
    if place is None or not hint or not hint.strip():
        return found
    message = found[place]
    body = _with_hint(message.body, hint.strip(), message.wire)
    if body is not None:
        raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        found[place] = recounted(_replaced(message, raw))
    return found


def _replaced(message: Message, raw: str) -> Message:
    return Message(
        message.seq,
        message.role,
        message.tokens,
        raw,
        call_ids=message.call_ids,
        answer_ids=message.answer_ids,
        wire=message.wire,
        speaker=message.speaker,
    )


def _with_hint(body: JsonObject, hint: str, wire: Wire) -> JsonObject | None:
    content: Any = body.get("content")
    if isinstance(content, str):
        content = [{"type": _TEXT_TYPES[wire], "text": content}]
    if not isinstance(content, list):
        return None
    return {**body, "content": [{"type": _TEXT_TYPES[wire], "text": hint}, *content]}


def with_hint_at_its_end(system_prompt: str, hint: str | None) -> str:
    """Put a hint behind a system prompt, so that the prefix stays the same from request to request."""
    return "\n\n".join(part for part in (system_prompt, hint) if part)
