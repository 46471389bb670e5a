"""Writer of the neutral form as OpenAI chat messages."""

import re
from collections.abc import Sequence

from context.types import JsonObject, Message, Role
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
    address_of,
    contents_of,
    dump,
    empty_loss,
    file_name,
    losses_of,
    note_for,
    told_contents,
)
from context.wire.openai.read import LIMITS, says_nothing

_BLANK_CHARS = 200
"""Raw length above which a message without null, an empty list or a blank text always has content."""

_BLANK_TEXT = re.compile(r'": ?"(?:\s|\\[nrtf])*"')

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}


def write(entries: Sequence[NeutralEntry]) -> ConvertedWindow:
    """Write paired and ordered entries as chat messages; native messages pass untouched.

    Media returned by a tool follow the answers in a user message, since tool messages accept only text here.
    """
    items: list[str] = []
    losses: list[Loss] = []
    carried: list[JsonObject] = []
    for group in _groups(entries):
        if carried and group[0].role is not Role.TOOL:
            items.append(_carry(carried))
            carried = []
        for entry in group:
            losses += losses_of(entry)
        native = group[0].native
        if native is not None:
            _pass(native, items, losses)
        else:
            carried += _write_group(group, items, losses)
    if carried:
        items.append(_carry(carried))
    return ConvertedWindow(tuple(items), dropped=tuple(losses))


def _groups(entries: Sequence[NeutralEntry]) -> list[list[NeutralEntry]]:
    """Join consecutive assistant pieces if a piece has a call: an answer must follow its call at once."""
    groups: list[list[NeutralEntry]] = []
    for entry in entries:
        last = groups[-1] if groups else []
        joins = last and all(e.native is None and e.role is Role.ASSISTANT for e in (last[0], entry))
        if joins and (entry.call_ids or any(e.call_ids for e in last)):
            last.append(entry)
        else:
            groups.append([entry])
    return groups


def _pass(native: Message, items: list[str], losses: list[Loss]) -> None:
    if is_empty(native):
        losses.append(Loss(native.seq, LossKind.EMPTY, "an assistant message that says nothing was left out"))
    else:
        items.append(native.raw)


def is_empty(message: Message) -> bool:
    """Tell whether a message has no content for the provider; a new empty text is the caller's intent."""
    if message.role is Role.TOOL or message.call_ids:
        return False
    if message.role is Role.USER and not message.seq and "[]" not in message.raw:
        return False
    if len(message.raw) > _BLANK_CHARS and not _may_be_blank(message.raw):
        return False
    return says_nothing(message.body)


def _may_be_blank(raw: str) -> bool:
    return "null" in raw or "[]" in raw or _BLANK_TEXT.search(raw) is not None


def _write_group(group: Sequence[NeutralEntry], items: list[str], losses: list[Loss]) -> list[JsonObject]:
    """Append the group's messages; return the media to be placed after the tool answers."""
    first = group[0]
    if first.role is Role.TOOL:
        return _write_answers(first, items, losses)
    body = _assistant(group, losses) if first.role is Role.ASSISTANT else _plain(first, losses)
    if body is None:
        losses += empty_loss(group)
    else:
        items.append(dump(body))
    return []


def _assistant(group: Sequence[NeutralEntry], losses: list[Loss]) -> JsonObject | None:
    texts = [part for entry in group for part in _texts(entry, told_contents(entry.parts), losses)]
    calls = [
        _call(entry.seq, part, losses)
        for entry in group
        for part in entry.parts
        if isinstance(part, NeutralCall)
    ]
    if not texts and not calls:
        return None
    body: JsonObject = {"role": "assistant", "content": _shortest(texts) if texts else None}
    if calls:
        body["tool_calls"] = calls
    if group[0].speaker:
        body["name"] = group[0].speaker
    return body


def _plain(entry: NeutralEntry, losses: list[Loss]) -> JsonObject | None:
    contents = told_contents(entry.parts)
    user = entry.role is Role.USER
    parts = [_part(entry.seq, part, losses) for part in contents] if user else _texts(entry, contents, losses)
    if not parts:
        return None
    role = "user" if user else (entry.role_name or "system")
    body: JsonObject = {"role": role, "content": _shortest(parts)}
    if entry.speaker:
        body["name"] = entry.speaker
    return body


def _write_answers(entry: NeutralEntry, items: list[str], losses: list[Loss]) -> list[JsonObject]:
    carried: list[JsonObject] = []
    for answer in [part for part in entry.parts if isinstance(part, ToolAnswer)]:
        parts: list[JsonObject] = []
        for part in contents_of(answer.parts):
            shaped = _part(entry.seq, part, losses)
            if shaped["type"] == "text":
                parts.append(shaped)
            else:
                parts.append({"type": "text", "text": "[shown in the message after the tool results]"})
                carried.append(shaped)
                losses.append(Loss(entry.seq, LossKind.ORDER, "a tool's media moved behind the tool results"))
        if answer.is_error:
            losses.append(Loss(entry.seq, LossKind.ERROR_FLAG, "a failed call is told by its text only"))
        content = _shortest(parts) if parts else ""
        items.append(dump({"role": "tool", "tool_call_id": answer.call_id, "content": content}))
    return carried


def _carry(parts: Sequence[JsonObject]) -> str:
    lead = {"type": "text", "text": "[media returned by the tool calls above]"}
    return dump({"role": "user", "content": [lead, *parts]})


def _texts(
    entry: NeutralEntry, contents: Sequence[Text | NeutralMedia], losses: list[Loss]
) -> list[JsonObject]:
    """Write contents as text only: media become notes."""
    return [
        _note(entry.seq, part, losses) if isinstance(part, NeutralMedia) else _text(part) for part in contents
    ]


def _text(part: Text) -> JsonObject:
    return {"type": "refusal", "refusal": part.text} if part.refusal else {"type": "text", "text": part.text}


def _part(seq: int, part: Text | NeutralMedia, losses: list[Loss]) -> JsonObject:
    if isinstance(part, Text):
        return _text(part)
    return _media(part) or _note(seq, part, losses)


def _media(media: NeutralMedia) -> JsonObject | None:
    """Write media as a chat part; None without a matching shape: file addresses, rare sounds, foreign ids."""
    if media.kind is NeutralMediaKind.IMAGE and not media.file_id:
        detail = {"detail": media.detail} if media.detail else {}
        return {"type": "image_url", "image_url": {"url": address_of(media), **detail}}
    if media.kind is NeutralMediaKind.AUDIO and media.mime in _AUDIO_FORMATS:
        return {
            "type": "input_audio",
            "input_audio": {"data": media.data, "format": _AUDIO_FORMATS[media.mime]},
        }
    if media.kind is NeutralMediaKind.FILE and media.vendor == "openai":
        return {"type": "file", "file": {"file_id": media.file_id}}
    if media.kind is NeutralMediaKind.FILE and media.data:
        return {"type": "file", "file": {"filename": file_name(media), "file_data": address_of(media)}}
    return None


def _note(seq: int, media: NeutralMedia, losses: list[Loss]) -> JsonObject:
    losses.append(Loss(seq, LossKind.MEDIA, f"the {media.kind} became a note"))
    return {"type": "text", "text": note_for(media)}


def _shortest(parts: Sequence[JsonObject]) -> object:
    """Write a single text as a string, a form accepted by every server of the format."""
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return list(parts)


def _call(seq: int, call: NeutralCall, losses: list[Loss]) -> JsonObject:
    name = shape_name(call.name, LIMITS.name_chars)
    if name != call.name:
        losses.append(Loss(seq, LossKind.TOOL_NAME, "the tool's name was shaped for this format"))
    if call.free_form:
        return {"id": call.call_id, "type": "custom", "custom": {"name": name, "input": call.arguments}}
    return {"id": call.call_id, "type": "function", "function": {"name": name, "arguments": call.arguments}}
