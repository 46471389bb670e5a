"""Compactions of providers: an item of a provider's own that stands for everything before."""

from dataclasses import dataclass, replace

from context.tokens.message import recounted
from context.types import JsonObject, Message
from context.wire import describe
from context.wire.formats import format_of
from context.wire.neutral import dump


@dataclass(frozen=True)
class CutMessage:
    """A message cut at its last compaction, each part counted.

    Attributes:
        item: The compaction alone.
        after: The content after; None for none.
    """

    item: Message
    after: Message | None = None


def cut_at_compaction(message: Message) -> CutMessage | None:
    """Cut a message at its last compaction; the content before is covered and left out.

    Returns:
        The parts; None for a message without a compaction.
    """
    parts = format_of(message.wire).cut_compaction(message.body)
    if parts is None:
        return None
    return CutMessage(_part(message, parts.item), _part(message, parts.after) if parts.after else None)


def without_compaction(message: Message) -> Message | None:
    """Leave the compactions out of a message.

    Returns:
        The message with the content before and after; the same message without any compaction, or None if
        nothing sendable is left.
    """
    form = format_of(message.wire)
    parts = form.cut_compaction(message.body)
    if parts is None:
        return message
    contents = [part["content"] for part in (parts.before, parts.after) if part]
    body = {**message.body, "content": [block for content in contents for block in content]}
    if not contents or not form.is_told(body):
        return None
    return _part(message, body)


def _part(message: Message, body: JsonObject) -> Message:
    facts = describe(body, message.wire)
    part = replace(
        message, raw=dump(body), call_ids=facts.call_ids, answer_ids=facts.answer_ids, compaction=()
    )
    return recounted(part)
