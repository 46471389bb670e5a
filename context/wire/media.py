"""Media conversion between formats: data addresses, and notes in place of unsupported media."""

import re

from context.types import JsonObject
from context.wire.neutral import (
    LOST_COMPACTION,
    Content,
    LossKind,
    Lost,
    NeutralMedia,
    NeutralMediaKind,
    Text,
    text_at,
)

_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*?);base64,", re.IGNORECASE)
_DEFAULT_NAMES = {"application/pdf": "document.pdf", "text/plain": "document.txt"}


def located(kind: NeutralMediaKind, address: str, *, name: str = "", detail: str = "") -> Content:
    """Read an address: inline base64 data, or a URL for the provider."""
    found = _DATA_URL.match(address)
    if found:
        return NeutralMedia(
            kind, mime=found[1].lower(), data=address[found.end() :], name=name, detail=detail
        )
    if not address:
        return Lost(LossKind.CONTENT, f"the {kind} part without its content was left out")
    return NeutralMedia(kind, url=address, name=name, detail=detail)


def openai_file(part: JsonObject) -> Content:
    """Read an OpenAI file in either API: data, address or id."""
    name = text_at(part, "filename")
    if text_at(part, "file_id"):
        return NeutralMedia(
            NeutralMediaKind.FILE, file_id=text_at(part, "file_id"), vendor="openai", name=name
        )
    data = text_at(part, "file_data")
    if data and not _DATA_URL.match(data):
        return NeutralMedia(NeutralMediaKind.FILE, data=data, name=name)
    return located(NeutralMediaKind.FILE, data or text_at(part, "file_url"), name=name)


def read_unknown(part: JsonObject) -> list[Content]:
    """Read a part that a format does not know: the part's words, or a note in its place."""
    kind = str(part.get("type"))
    if kind in {"thinking", "redacted_thinking"}:
        return [Lost(LossKind.REASONING, "thinking inside the content was left out whole")]
    if kind == "compaction":
        return [LOST_COMPACTION]
    words = text_at(part, "text") or joined_text(part.get("content"))
    if words:
        return [Text(words), Lost(LossKind.CONTENT, f"a part of type {kind[:40]} became plain text")]
    name = kind.removeprefix("input_").removesuffix("_url")[:40]
    return [Text(f"[{name} not shown]"), Lost(LossKind.MEDIA, f"the {name} became a note")]


def joined_text(content: object) -> str:
    """Join the words of text blocks; a string stays."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n\n".join(text_at(block, "text") for block in blocks if isinstance(block, dict))


def address_of(media: NeutralMedia) -> str:
    """Return media as a single address, including inline data; empty for a file id."""
    if media.data:
        return f"data:{media.mime or 'application/octet-stream'};base64,{media.data}"
    return media.url


def file_name(media: NeutralMedia) -> str:
    """Name a file, for formats with a required name."""
    return media.name or _DEFAULT_NAMES.get(media.mime, "document")


def note_for(media: NeutralMedia) -> str:
    """Write a note in place of media, without address and data."""
    what = ", ".join(word for word in (media.mime, media.name) if word)
    return f"[{media.kind} not shown{': ' + what if what else ''}]"
