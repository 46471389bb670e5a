"""Writer of the neutral form's parts as Anthropic content blocks."""

import base64
import binascii
from collections.abc import Sequence
from typing import Never
from urllib.parse import urlsplit

from context.text.sanitize import decode_inner
from context.types import JsonObject, Role
from context.wire.anthropic.facts import LIMITS
from context.wire.media import note_for
from context.wire.names import shape_name
from context.wire.neutral import (
    Loss,
    LossKind,
    NeutralCall,
    NeutralEntry,
    NeutralMedia,
    NeutralMediaKind,
    Text,
    ToolAnswer,
    contents_of,
    member,
)

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def blocks_of(entry: NeutralEntry, losses: list[Loss]) -> list[JsonObject]:
    """Write an entry's parts as blocks, in order; blank texts, refused by the provider, are left out."""
    blocks: list[JsonObject] = []
    for part in entry.parts:
        if isinstance(part, NeutralCall):
            blocks.append(_tool_use(entry.seq, part, losses))
        elif isinstance(part, ToolAnswer):
            blocks.append(_tool_result(entry.seq, part, losses))
        elif isinstance(part, Text | NeutralMedia):
            media_allowed = entry.role is not Role.ASSISTANT
            blocks += _content(entry.seq, part, losses, media_allowed=media_allowed)
    return _named(entry, blocks, losses)


def told_blocks(content: str | Sequence[JsonObject]) -> list[JsonObject]:
    """Drop blank texts from a stored message's content and from tool results, as required by the provider.

    Args:
        content: Words, or blocks; kept blocks are the same objects.
    """
    if isinstance(content, str):
        return [_text(content)] if content.strip() else []
    return [_told_result(block) for block in content if not _is_blank(block)]


def opens_with_compaction(blocks: object) -> bool:
    """Tell whether content begins with a compaction, which may stand first, whoever speaks."""
    return isinstance(blocks, list) and bool(blocks) and member(blocks[0], "type") == "compaction"


def _is_blank(block: JsonObject) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _told_result(block: JsonObject) -> JsonObject:
    content = block.get("content") if block["type"] == "tool_result" else None
    if not isinstance(content, list) or not any(map(_is_blank, content)):
        return block
    told = [part for part in content if not _is_blank(part)]
    rest = {key: value for key, value in block.items() if key != "content"}
    return {**rest, "content": told} if told else rest


def _named(entry: NeutralEntry, blocks: list[JsonObject], losses: list[Loss]) -> list[JsonObject]:
    """Write a user's name before the words, so that the speaker survives merging of messages."""
    if not entry.speaker or not blocks:
        return blocks
    if entry.role is not Role.USER:
        losses.append(Loss(entry.seq, LossKind.SPEAKER, "the name beside the role was left out"))
        return blocks
    losses.append(Loss(entry.seq, LossKind.SPEAKER, "the speaker's name was written before the words"))
    if blocks[0]["type"] == "text":
        return [_text(f"{entry.speaker}: {blocks[0]['text']}"), *blocks[1:]]
    return [_text(f"{entry.speaker}:"), *blocks]


def _content(
    seq: int, part: Text | NeutralMedia, losses: list[Loss], *, media_allowed: bool
) -> list[JsonObject]:
    if isinstance(part, Text):
        if part.text.strip():
            return [_text(part.text)]
        losses.append(Loss(seq, LossKind.EMPTY, "a blank text was left out"))
        return []
    shaped = _media(part) if media_allowed else None
    if shaped is not None:
        return [shaped]
    losses.append(Loss(seq, LossKind.MEDIA, f"the {part.kind} became a note"))
    return [_text(note_for(part))]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _tool_use(seq: int, call: NeutralCall, losses: list[Loss]) -> JsonObject:
    name = shape_name(call.name, LIMITS.name_chars)
    if name != call.name:
        losses.append(Loss(seq, LossKind.TOOL_NAME, "the tool's name was shaped for this format"))
    arguments = None if call.free_form else parse_arguments(call.arguments)
    if arguments is None:
        losses.append(Loss(seq, LossKind.ARGUMENTS, "arguments that are no JSON object went under 'input'"))
        arguments = {"input": call.arguments}
    return {"type": "tool_use", "id": call.call_id, "name": name, "input": arguments}


def parse_arguments(text: str) -> JsonObject | None:
    """Read arguments as a strict JSON object; blank arguments are empty, other values None."""
    if not text.strip():
        return {}
    try:
        value = decode_inner(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> Never:
    raise ValueError(constant)


def _tool_result(seq: int, answer: ToolAnswer, losses: list[Loss]) -> JsonObject:
    blocks = [
        block
        for part in contents_of(answer.parts)
        for block in _content(seq, part, losses, media_allowed=True)
    ]
    result: JsonObject = {"type": "tool_result", "tool_use_id": answer.call_id}
    if blocks:
        result["content"] = blocks[0]["text"] if [b["type"] for b in blocks] == ["text"] else blocks
    return result


def _media(media: NeutralMedia) -> JsonObject | None:
    """Write media as a block; None without a matching shape: sounds, plain http, other vendors' ids."""
    if media.kind is NeutralMediaKind.IMAGE:
        source = _image_source(media)
        return {"type": "image", "source": source} if source else None
    source = _file_source(media) if media.kind is NeutralMediaKind.FILE else None
    title = {"title": media.name} if media.name else {}
    return {"type": "document", "source": source, **title} if source else None


def _image_source(media: NeutralMedia) -> JsonObject | None:
    mime = "image/jpeg" if media.mime == "image/jpg" else media.mime
    if media.data and mime in _IMAGES:
        return {"type": "base64", "media_type": mime, "data": media.data}
    if media.url.startswith("https://"):
        return {"type": "url", "url": media.url}
    return None


def _file_source(media: NeutralMedia) -> JsonObject | None:
    if media.data and media.mime == "application/pdf":
        return {"type": "base64", "media_type": media.mime, "data": media.data}
    if media.data and media.mime == "text/plain":
        return _plain_text(media.data)
    if media.url.startswith("https://") and _is_pdf(media):
        return {"type": "url", "url": media.url}
    return None


def _is_pdf(media: NeutralMedia) -> bool:
    try:
        path = urlsplit(media.url).path
    except ValueError:
        return False
    return media.name.lower().endswith(".pdf") or path.lower().endswith(".pdf")


def _plain_text(data: str) -> JsonObject | None:
    try:
        text = base64.b64decode(data, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return {"type": "text", "media_type": "text/plain", "data": text} if text.strip() else None
