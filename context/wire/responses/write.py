"""Writer of the neutral form as OpenAI Responses items."""

import json
from collections.abc import Collection, Iterable, Sequence

from context.types import JsonObject, Role
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
from context.wire.responses.read import LIMITS, REASONING, loose_reasoning

LOOSE_REASONING = (LossKind.REASONING, "reasoning that led to nothing was left out")


def write(entries: Sequence[NeutralEntry]) -> ConvertedWindow:
    """Write paired entries as items: words and media, then calls; native items pass untouched."""
    items: list[tuple[int, str]] = []
    losses: list[Loss] = []
    free_form: set[str] = set()
    for entry in entries:
        losses += losses_of(entry)
        if entry.native is not None:
            items.append((entry.seq, entry.native.raw))
            continue
        free_form.update(
            part.call_id for part in entry.parts if isinstance(part, NeutralCall) and part.free_form
        )
        written = _items(entry, free_form, losses)
        losses += [] if written else empty_loss([entry])
        items += [(entry.seq, dump(item)) for item in written]
    loose = _loose(text for _, text in items)
    losses += [Loss(items[place][0], *LOOSE_REASONING) for place in sorted(loose)]
    kept = tuple(text for place, (_, text) in enumerate(items) if place not in loose)
    return ConvertedWindow(kept, dropped=tuple(losses))


def _loose(items: Iterable[str]) -> set[int]:
    texts = list(items)
    if not any(REASONING in text for text in texts):
        return set()
    return loose_reasoning([json.loads(text) for text in texts])


def _items(entry: NeutralEntry, free_form: Collection[str], losses: list[Loss]) -> list[JsonObject]:
    items: list[JsonObject] = []
    contents: list[Text | NeutralMedia] = []
    for part in entry.parts:
        if isinstance(part, Text | NeutralMedia):
            contents.append(part)
        elif isinstance(part, NeutralCall | ToolAnswer):
            items += _message(entry, contents, losses)
            contents = []
            items.append(_call_or_output(entry.seq, part, free_form, losses))
    return items + _message(entry, contents, losses)


def _call_or_output(
    seq: int, part: NeutralCall | ToolAnswer, free_form: Collection[str], losses: list[Loss]
) -> JsonObject:
    if isinstance(part, NeutralCall):
        return _call(seq, part, losses)
    kind = "custom_tool_call_output" if part.call_id in free_form else "function_call_output"
    return {"type": kind, **_output(seq, part, losses)}


def _message(
    entry: NeutralEntry, contents: Sequence[Text | NeutralMedia], losses: list[Loss]
) -> list[JsonObject]:
    """Write the content between two calls as a message, or as no message if blank."""
    contents = told_contents(contents)
    if not contents:
        return []
    if entry.speaker and entry.role is not Role.USER:
        losses.append(Loss(entry.seq, LossKind.SPEAKER, "the name beside the role was left out"))
    if entry.role is Role.USER:
        parts = [_input(entry.seq, part, losses) for part in contents]
        parts = _named(entry, parts, losses)
    elif entry.role is Role.ASSISTANT:
        parts = [_said(entry.seq, part, losses) for part in contents]
    else:
        parts = [_input_text(_words(entry.seq, part, losses)) for part in contents]
    role = entry.role_name if entry.role_name == "developer" else entry.role.value
    only = parts[0] if len(parts) == 1 else {}
    return [{"role": role, "content": only.get("text", parts)}]


def _named(entry: NeutralEntry, parts: list[JsonObject], losses: list[Loss]) -> list[JsonObject]:
    if not entry.speaker:
        return parts
    losses.append(Loss(entry.seq, LossKind.SPEAKER, "the speaker's name was written before the words"))
    if "text" in parts[0]:
        return [_input_text(f"{entry.speaker}: {parts[0]['text']}"), *parts[1:]]
    return [_input_text(f"{entry.speaker}:"), *parts]


def _said(seq: int, part: Text | NeutralMedia, losses: list[Loss]) -> JsonObject:
    if isinstance(part, Text) and part.refusal:
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "text": _words(seq, part, losses), "annotations": []}


def _input(seq: int, part: Text | NeutralMedia, losses: list[Loss]) -> JsonObject:
    shaped = _media(part) if isinstance(part, NeutralMedia) else None
    return shaped or _input_text(_words(seq, part, losses))


def _input_text(text: str) -> JsonObject:
    return {"type": "input_text", "text": text}


def _words(seq: int, part: Text | NeutralMedia, losses: list[Loss]) -> str:
    if isinstance(part, Text):
        return part.text
    losses.append(Loss(seq, LossKind.MEDIA, f"the {part.kind} became a note"))
    return note_for(part)


def _media(media: NeutralMedia) -> JsonObject | None:
    """Write media as an input part; None without a matching shape: sounds and foreign ids."""
    if media.kind is NeutralMediaKind.AUDIO or media.vendor == "anthropic":
        return None
    if media.kind is NeutralMediaKind.IMAGE:
        where = {"file_id": media.file_id} if media.file_id else {"image_url": address_of(media)}
        return {"type": "input_image", "detail": media.detail or "auto", **where}
    if media.file_id:
        return {"type": "input_file", "file_id": media.file_id}
    if media.url:
        return {"type": "input_file", "file_url": media.url}
    return {"type": "input_file", "filename": file_name(media), "file_data": address_of(media)}


def _call(seq: int, call: NeutralCall, losses: list[Loss]) -> JsonObject:
    name = shape_name(call.name, LIMITS.name_chars)
    if name != call.name:
        losses.append(Loss(seq, LossKind.TOOL_NAME, "the tool's name was shaped for this format"))
    if call.free_form:
        return {"type": "custom_tool_call", "call_id": call.call_id, "name": name, "input": call.arguments}
    return {"type": "function_call", "call_id": call.call_id, "name": name, "arguments": call.arguments}


def _output(seq: int, answer: ToolAnswer, losses: list[Loss]) -> JsonObject:
    parts = [_input(seq, part, losses) for part in contents_of(answer.parts)]
    if answer.is_error:
        losses.append(Loss(seq, LossKind.ERROR_FLAG, "a failed call is told by its text only"))
    only = parts[0] if len(parts) == 1 else {}
    output = only.get("text", parts or "")
    return {"call_id": answer.call_id, "output": output}
