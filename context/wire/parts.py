"""Parts of a message from any wire format: words, calls, results, media, pointers, compactions."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from context.tokens.message import recounted
from context.types import JsonObject, Message, Role
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


POINTER_TAG = "stored_result"
PREVIEW_MARK = "\n\n"
"""Separator between the words of a pointer and its preview."""

_OPENING = re.compile(
    rf'<{POINTER_TAG} id="(art_[0-9a-f]{{32}})"(?: part="(\d{{1,10}})-(\d{{1,10}})")?(?: [^<>\n]{{0,300}})?>'
)
_LINE_OPENING = re.compile(rf"^(?:{_OPENING.pattern})", re.MULTILINE)
_CLOSING = f"</{POINTER_TAG}>"
_LEFT_OUT = re.compile(r"^\[\.\.\. (\d+) characters left out \.\.\.\]$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """Target of a pointer.

    Attributes:
        artifact_id: The artifact.
        start: The first replaced character; None if the whole artifact was replaced.
        end: The end, not included.
    """

    artifact_id: str
    start: int | None = None
    end: int | None = None

    def read(self, content: str) -> str | None:
        """Cut the replaced part out of the artifact's content; None if the content is too short."""
        if self.start is None or self.end is None:
            return content
        return content[self.start : self.end] if self.start <= self.end <= len(content) else None


def read_pointer(text: str) -> Reference | None:
    """Read a text that is a pointer and nothing else.

    The text proves nothing: anybody may have made up a pointer. The caller must check by the data stored with
    the message, never by the text, whether the named artifact may be read here.

    Args:
        text: A text of a tool result.

    Returns:
        The target; None for any other text.
    """
    opening = _opening(text)
    if opening is None:
        return None
    artifact_id, start, end = opening.groups()
    return Reference(artifact_id, int(start), int(end)) if start else Reference(artifact_id)


def pointer_words(text: str) -> str:
    """Extract from pointers the words of the replaced results, for summaries and searches.

    Args:
        text: The words of a tool result; several texts of one result joined by line breaks.

    Returns:
        The text, each pointer replaced by its preview, with the artifact's id in the note about the omitted
        part. Words added by the pointer's writer are dropped.
    """
    if f"<{POINTER_TAG} " not in text:
        return text
    kept, position = [], 0
    for opening in _LINE_OPENING.finditer(text):
        if opening.start() < position:
            continue
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            break
        shown = text[opening.end() : end].partition(PREVIEW_MARK)[2].removesuffix("\n")
        named = rf"[... \1 characters left out; all of it is stored as {opening[1]} ...]"
        kept += [text[position : opening.start()], _LEFT_OUT.sub(named, shown, count=1)]
        position = end + len(_CLOSING)
    return "".join([*kept, text[position:]]).removesuffix("\n") if kept else text


def _opening(text: str) -> re.Match[str] | None:
    return _OPENING.match(text) if text.endswith(_CLOSING) else None


class PartKind(StrEnum):
    """Kinds of parts of a message."""

    TEXT = "text"
    CALL = "call"
    RESULT = "result"
    MEDIA = "media"


@dataclass(frozen=True)
class MessagePart:
    """One part of a message.

    Attributes:
        kind: The kind of part.
        text: The words, a call's arguments as JSON text, a result's output, or a description of the medium.
        name: The tool of a call or a result, if the message names the tool.
        call_id: The id of the call made or answered.
        failed: True if a result reports a failure; None if the message does not say.
    """

    kind: PartKind
    text: str
    name: str = ""
    call_id: str = ""
    failed: bool | None = None


_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal", "summary_text"})
_THINKING_TYPES = frozenset(
    {"thinking", "redacted_thinking", "reasoning", "reasoning_text", "compaction", "compaction_summary"}
)
_MEDIA_TYPES = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "image_generation_call": "image",
    "input_audio": "audio",
    "audio": "audio",
    "video": "video",
    "video_url": "video",
    "file": "file",
    "input_file": "file",
    "document": "document",
    "document_url": "document",
    "container_upload": "file",
}
_NAME_KEYS = ("filename", "file_name", "title", "file_id")
_OUTPUT_KEYS = ("stdout", "stderr", "text", "output", "content", "data", "error_code", "error")
_MAX_DEPTH = 6


def read_parts(message: Message) -> tuple[MessagePart, ...]:
    """List the parts of a message in order, without thinking and signatures.

    Args:
        message: A message in any wire format; unknown blocks are passed over.

    Returns:
        The parts; empty for a message without content.
    """
    return tuple(_item_parts(message.body, message.role))


def _item_parts(body: JsonObject, role: Role) -> Iterator[MessagePart]:
    kind = str(body.get("type") or "")
    if kind in _THINKING_TYPES:
        return
    if kind.endswith(("_call_output", "_search_output")):
        yield _result(body, body.get("output", body.get("tools")))
    elif kind.endswith("_call") and kind not in _MEDIA_TYPES:
        yield _call(body)
        if body.get("output") is not None or body.get("error") is not None:
            yield _result(body, body.get("error") or body.get("output"))
    elif role is Role.TOOL and "content" in body and not _holds_results(body["content"]):
        yield _result(body, body["content"])
    else:
        yield from _chat_parts(body, kind)


def _chat_parts(body: JsonObject, kind: str) -> Iterator[MessagePart]:
    if kind in _MEDIA_TYPES:
        yield _media(body, kind)
        return
    yield from _content_parts(body.get("content"))
    if isinstance(body.get("refusal"), str):
        yield MessagePart(PartKind.TEXT, body["refusal"])
    for call in _objects(body.get("tool_calls")):
        yield _call(call)
    if isinstance(body.get("function_call"), dict):
        yield _call(body["function_call"])


def _content_parts(content: Any) -> Iterator[MessagePart]:
    if isinstance(content, str):
        if content.strip():
            yield MessagePart(PartKind.TEXT, content)
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, str):
                yield from _content_parts(block)
            elif isinstance(block, dict):
                yield from _block_parts(block)


def _block_parts(block: JsonObject) -> Iterator[MessagePart]:
    kind = str(block.get("type") or "")
    if kind in _TEXT_TYPES or (not kind and isinstance(block.get("text"), str)):
        yield from _content_parts(block.get("text") or block.get("refusal") or "")
    elif kind.endswith("tool_use"):
        yield _call(block)
    elif kind.endswith("tool_result"):
        yield _result(block, block.get("content"))
    elif kind in _MEDIA_TYPES:
        yield _media(block, kind)
        yield from _content_parts(_plain_source(block))


def _call(call: JsonObject) -> MessagePart:
    inner = call.get("function")
    source = inner if isinstance(inner, dict) else call
    keys = ("arguments", "input", "action", "code")
    arguments = next((source[key] for key in keys if source.get(key) is not None), "")
    name = source.get("name") or str(source.get("type") or "tool").removesuffix("_call")
    return MessagePart(PartKind.CALL, _as_text(arguments), name=str(name), call_id=_call_id(call))


def _result(block: JsonObject, output: Any) -> MessagePart:
    text = pointer_words(output_text(output))
    name = str(block.get("name") or "")
    return MessagePart(
        PartKind.RESULT, text, name=name, call_id=_call_id(block), failed=reports_failure(block, output)
    )


def _call_id(block: JsonObject) -> str:
    keys = ("call_id", "tool_call_id", "tool_use_id", "id")
    return str(next((block[key] for key in keys if block.get(key)), ""))


def reports_failure(block: JsonObject, output: Any) -> bool | None:
    """Read whether a result reports the failure of its call.

    Args:
        block: The message or block with the result.
        output: The output of the call.

    Returns:
        The reported state, or None if the result does not say.
    """
    if isinstance(block.get("is_error"), bool):
        return bool(block["is_error"])
    if block.get("error") is not None or block.get("status") in {"failed", "error"}:
        return True
    if isinstance(output, dict) and isinstance(output.get("return_code"), int):
        return bool(output["return_code"])
    return True if isinstance(output, dict) and output.get("error_code") else None


def _media(block: JsonObject, kind: str) -> MessagePart:
    holders = [block, *(value for value in block.values() if isinstance(value, dict))]
    names = (holder.get(key) for holder in holders for key in _NAME_KEYS)
    name = next((name for name in names if isinstance(name, str) and name), "")
    return MessagePart(PartKind.MEDIA, f"{_MEDIA_TYPES[kind]} {name}".strip())


def output_text(output: Any, depth: int = 0) -> str:
    """Read the words of a tool's output at any depth of nesting.

    Args:
        output: Text, blocks, or any JSON value.
        depth: The number of levels above; beyond a few levels, values become plain JSON.

    Returns:
        The text; media as a short note; an unknown shape as compact JSON.
    """
    if output is None:
        return ""
    if isinstance(output, str):
        return output
    if isinstance(output, list) and depth < _MAX_DEPTH:
        return "\n".join(filter(None, (output_text(item, depth + 1) for item in output)))
    if isinstance(output, dict) and depth < _MAX_DEPTH:
        return _object_text(output, depth)
    return _as_text(output)


def _object_text(output: JsonObject, depth: int) -> str:
    kind = str(output.get("type") or "")
    if kind in _MEDIA_TYPES and not isinstance(output.get("content"), dict | list):
        return "\n".join(filter(None, (f"[{_media(output, kind).text}]", _plain_source(output))))
    if not kind:
        return _as_text(output)
    found = [output_text(output[key], depth + 1) for key in _OUTPUT_KEYS if output.get(key)]
    return "\n".join(filter(None, found)) or ("" if kind in _TEXT_TYPES else _as_text(output))


def _plain_source(block: JsonObject) -> str:
    """Return the text of a document with a plain text source, or ""."""
    source = block.get("source")
    is_text = (
        isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str)
    )
    return str(source["data"]) if isinstance(source, dict) and is_text else ""


def _holds_results(content: Any) -> bool:
    return any(str(block.get("type") or "").endswith("tool_result") for block in _objects(content))


def _objects(value: Any) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
