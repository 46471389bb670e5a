"""Windows for the wire tests: bodies made into messages, and what a window says whatever its format."""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from context.types import JsonObject, Message, Role, Wire
from context.wire import Loss, LossKind, convert, describe
from context.wire.formats import format_of
from context.wire.neutral import Content, Lost, NeutralCall, NeutralMedia, Part, Text, ToolAnswer

Said: TypeAlias = tuple[str, ...]

RESHAPES = frozenset(
    {LossKind.MEDIA, LossKind.ORDER, LossKind.SPEAKER, LossKind.EMPTY, LossKind.ARGUMENTS, LossKind.TOOL_NAME}
)
"""Losses after which the same things are said, but not in the same words or places."""


def message(body: JsonObject, wire: Wire = Wire.OPENAI, seq: int = 1) -> Message:
    """Store one body as the intake would."""
    facts = describe(body, wire, f"messages[{seq - 1}]")
    raw = json.dumps(body)
    return Message(seq, facts.role, 0, raw, facts.call_ids, facts.answer_ids, wire, facts.speaker)


def window(bodies: Sequence[JsonObject], wire: Wire = Wire.OPENAI) -> list[Message]:
    """Store several bodies in order."""
    return [message(body, wire, i + 1) for i, body in enumerate(bodies)]


def there(messages: Sequence[Message], wire: Wire) -> list[Message]:
    """Convert a window and store the outcome, as if it had been sent in that format."""
    return window(convert(messages, wire).bodies(), wire)


def said(messages: Sequence[Message]) -> list[Said]:
    """List what a window says: words, media, calls and answers, without ids, system prompt and losses."""
    entries = [entry for message in messages for entry in format_of(message.wire).read(message)]
    parts = [(e.role, part) for e in entries if e.role is not Role.SYSTEM for part in e.parts]
    return [one for role, part in parts for one in _said(role, part)]


def texts(messages: Sequence[Message]) -> list[str]:
    """List the words alone."""
    return [one[-1] for one in said(messages) if one[1] == "text"]


def kinds(losses: Sequence[Loss]) -> set[LossKind]:
    """Name the kinds of losses."""
    return {loss.kind for loss in losses}


def assert_same_said(before: Sequence[Message], after: Sequence[Message], losses: Sequence[Loss]) -> None:
    """Check that only listed losses lie between two windows."""
    if not kinds(losses) & RESHAPES:
        assert said(after) == said(before)
        return
    words = "\n".join(texts(after))
    assert [text for text in texts(before) if text.strip() and text not in words] == []
    for kind in ("call", "answer"):
        assert [one[1] for one in said(after)].count(kind) == [one[1] for one in said(before)].count(kind)


def _said(role: Role, part: Part) -> list[Said]:
    if isinstance(part, NeutralCall):
        return [(role, "call", part.name, _arguments(part.arguments))]
    if isinstance(part, ToolAnswer):
        return [(role, "answer"), *(one for inner in part.parts for one in _content(role, inner))]
    return _content(role, part)


def _content(role: Role, part: Content) -> list[Said]:
    match part:
        case Text(text=text):
            return [(role, "text", text)] if text else []
        case NeutralMedia(kind=kind, data=data, url=url, file_id=file_id):
            return [(role, kind, data or url or file_id)]
        case Lost():
            return []


def _arguments(text: str) -> str:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return text
    return json.dumps(value, sort_keys=True)
