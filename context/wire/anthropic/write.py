"""Writer of the neutral form as Anthropic messages and blocks: alternating roles, the system prompt apart."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Never
from urllib.parse import urlsplit

from context.text.sanitize import decode_inner
from context.types import JsonObject, Role
from context.wire.anthropic.read import LIMITS
from context.wire.format import shape_name
from context.wire.neutral import (
    ConvertedWindow,
    Loss,
    LossKind,
    NeutralCall,
    NeutralEntry,
    NeutralMedia,
    NeutralMediaKind,
    Text,
    ToolAnswer,
    contents_of,
    dump,
    empty_loss,
    losses_of,
    member,
    note_for,
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


_FIRST = {"role": "user", "content": "[The conversation begins with the assistant's words.]"}
_FIELDS = frozenset({"role", "content"})


@dataclass
class _Piece:
    """An outgoing message: its blocks, and its finished text as long as no other piece is merged."""

    role: str
    blocks: list[JsonObject]
    raw: str | None = None


@dataclass
class _Draft:
    """The window during writing."""

    system: list[str] = field(default_factory=list)
    pieces: list[_Piece] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)


def write(entries: Sequence[NeutralEntry]) -> ConvertedWindow:
    """Write paired and ordered entries; a native message stays as stored unless merged."""
    draft = _Draft()
    for entry in entries:
        draft.losses += losses_of(entry)
        if entry.native is not None:
            _add_native(draft, entry)
        elif entry.role is Role.SYSTEM:
            _add_system(draft, entry)
        else:
            role = "assistant" if entry.role is Role.ASSISTANT else "user"
            _add(draft, _Piece(role, blocks_of(entry, draft.losses)), entry)
    _lift_misplaced(draft, entries[0].seq if entries else 0)
    items = [_item(piece) for piece in draft.pieces]
    first = _spoken(draft.pieces)
    if first and first.role == "assistant" and not opens_with_compaction(first.blocks):
        items.insert(0, dump(_FIRST))
        draft.losses.append(
            Loss(entries[0].seq, LossKind.ORDER, "a user's note was put first: a user must begin")
        )
    return ConvertedWindow(tuple(items), "\n\n".join(draft.system) or None, tuple(draft.losses))


def _lift_misplaced(draft: _Draft, seq: int) -> None:
    """Move system messages to the prompt, except between a user and the assistant, or at the end."""
    roles = ["", *(piece.role for piece in draft.pieces), "assistant"]
    around = zip(draft.pieces, roles, roles[2:], strict=False)
    in_place: list[_Piece] = []
    misplaced: list[_Piece] = []
    for piece, before, after in around:
        is_misplaced = piece.role == "system" and (before != "user" or after != "assistant")
        (misplaced if is_misplaced else in_place).append(piece)
    if misplaced:
        draft.system += [text for piece in misplaced if (text := _words(piece))]
        draft.pieces = in_place
        draft.losses.append(Loss(seq, *_JOINED))


def _words(piece: _Piece) -> str:
    return "\n\n".join(str(block.get("text") or "") for block in piece.blocks).strip()


_JOINED = (LossKind.ORDER, "a later system message joined the system prompt")


def _add_system(draft: _Draft, entry: NeutralEntry) -> None:
    texts = [part.text for part in entry.parts if isinstance(part, Text) and part.text.strip()]
    draft.system += texts
    if texts and draft.pieces:
        draft.losses.append(Loss(entry.seq, *_JOINED))
    if any(isinstance(part, NeutralMedia) for part in entry.parts):
        draft.losses.append(Loss(entry.seq, LossKind.CONTENT, "a system prompt takes text only"))


def _add_native(draft: _Draft, entry: NeutralEntry) -> None:
    """Add a stored message, without refused content: other fields, words before a tool's results."""
    native = entry.native
    if native is None:
        return
    body = native.body
    extra = [key[:40] for key in body if key not in _FIELDS]
    if extra:
        draft.losses.append(Loss(entry.seq, LossKind.FIELDS, f"has no place for {', '.join(extra[:6])}"))
    stored = told_blocks(body["content"])
    is_cut = not isinstance(body["content"], str) and not _same(stored, body["content"])
    if is_cut and stored:
        draft.losses.append(Loss(entry.seq, LossKind.EMPTY, "a blank text was left out"))
    ordered = _results_first(stored) if body["role"] == "user" else stored
    is_moved = not _same(stored, ordered)
    if is_moved:
        draft.losses.append(Loss(entry.seq, LossKind.ORDER, "a tool's results were put before other words"))
    blocks = _renamed(ordered, dict(entry.renames))
    raw = native.raw
    if extra or entry.renames or is_moved or is_cut:
        content = blocks if entry.renames or is_moved or is_cut else body["content"]
        raw = dump({"role": body["role"], "content": content})
    _add(draft, _Piece(body["role"], blocks, raw), entry)


def _same(blocks: Sequence[JsonObject], others: Sequence[JsonObject]) -> bool:
    return len(blocks) == len(others) and all(map(is_, blocks, others))


def _renamed(blocks: list[JsonObject], names: dict[str, str]) -> list[JsonObject]:
    if not names:
        return blocks
    return [
        {
            key: names.get(value, value) if key in {"id", "tool_use_id"} else value
            for key, value in block.items()
        }
        for block in blocks
    ]


def _add(draft: _Draft, piece: _Piece, entry: NeutralEntry) -> None:
    """Append a piece, or merge with the previous piece of the same role.

    Roles alternate across system messages: merged content moves before the system message.
    """
    system = piece.role == "system"
    last = next(reversed(draft.pieces), None) if system else _spoken(reversed(draft.pieces))
    if not piece.blocks:
        draft.losses += empty_loss([entry])
    elif last is not None and last.role == piece.role:
        if last.raw is not None:
            last.blocks, last.raw = list(last.blocks), None
        last.blocks += piece.blocks
        if last is not draft.pieces[-1]:
            draft.system.append(_words(draft.pieces.pop()))
            draft.losses.append(Loss(entry.seq, *_JOINED))
    else:
        draft.pieces.append(piece)


def _spoken(pieces: Iterable[_Piece]) -> _Piece | None:
    """Find the first piece of a user or the assistant."""
    return next((piece for piece in pieces if piece.role != "system"), None)


def _results_first(blocks: list[JsonObject]) -> list[JsonObject]:
    """Put tool results first, as required; an assistant's blocks have no results."""
    return sorted(blocks, key=lambda block: block["type"] != "tool_result")


def _item(piece: _Piece) -> str:
    if piece.raw is not None:
        return piece.raw
    only = piece.blocks[0] if len(piece.blocks) == 1 else {}
    plain = only.get("text") if set(only) == {"type", "text"} else None
    return dump({"role": piece.role, "content": plain or _results_first(piece.blocks)})
