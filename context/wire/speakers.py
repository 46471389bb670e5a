"""Labels of speakers: a user's stored words with the name of the speaker, in a group of several."""

import re
from collections.abc import Iterable
from dataclasses import replace

from context.text.clip import name_on_one_line
from context.tokens.message_counts import recounted
from context.types import JsonObject, Message, Role, Wire
from context.wire.formats import format_of
from context.wire.neutral import dump

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
