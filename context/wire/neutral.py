"""Neutral form between two wire formats, media included, with a record of losses."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from context.types import JsonObject, Message, Role

_NAMES_SHOWN = 6
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})


class LossKind(StrEnum):
    """Kind of loss in a conversion."""

    REASONING = "reasoning"
    CONTENT = "content"
    MEDIA = "media"
    FIELDS = "fields"
    ERROR_FLAG = "error_flag"
    SPEAKER = "speaker"
    CALL_ID = "call_id"
    TOOL_NAME = "tool_name"
    ARGUMENTS = "arguments"
    ORDER = "order"
    EMPTY = "empty"


@dataclass(frozen=True)
class Loss:
    """A single loss of a conversion.

    Attributes:
        seq: The message's place in the log; 0 for an unstored message.
        kind: Kind of loss.
        why: Description of the change, without any text of the message.
    """

    seq: int
    kind: LossKind
    why: str


class NeutralMediaKind(StrEnum):
    """Kinds of media in a message."""

    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"


@dataclass(frozen=True)
class Text:
    """Text; a refusal is marked if the format has a mark."""

    text: str
    refusal: bool = False


@dataclass(frozen=True)
class NeutralMedia:
    """An image, a sound or a file, by exactly one of base64 data, address or a vendor's file id.

    Attributes:
        kind: Kind of media.
        mime: Media type, empty if unknown.
        data: Base64 text.
        url: An address to be opened by the provider.
        file_id: The vendor's file id.
        vendor: Vendor of the file id: openai or anthropic.
        name: A file's name.
        detail: The resolution requested by the sender.
    """

    kind: NeutralMediaKind
    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    vendor: str = ""
    name: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Lost:
    """Content without a place in any other format."""

    kind: LossKind
    why: str


LOST_COMPACTION = Lost(LossKind.REASONING, "a provider's compaction was left out: only its makers read it")


@dataclass(frozen=True)
class NeutralCall:
    """A tool call; `arguments` is JSON text, or free text for a free-form tool."""

    call_id: str
    name: str
    arguments: str
    free_form: bool = False


@dataclass(frozen=True)
class ToolAnswer:
    """Result of a tool call; only Anthropic has a flag for a failure."""

    call_id: str
    parts: "tuple[Text | NeutralMedia | Lost, ...]"
    is_error: bool = False


Content: TypeAlias = Text | NeutralMedia | Lost
Part: TypeAlias = Content | NeutralCall | ToolAnswer


@dataclass(frozen=True)
class NeutralEntry:
    """A message, or a piece of a message, during conversion to another format.

    Attributes:
        seq: The message's place in the log.
        role: The author's role.
        parts: The content; empty for a native message.
        native: The stored message, if already in the target format.
        role_name: `developer` for a system message with such a role name.
        speaker: The speaker's name.
        renames: New ids for a native message's calls and answers, if ids repeat.
    """

    seq: int
    role: Role
    parts: tuple[Part, ...] = ()
    native: Message | None = None
    role_name: str = ""
    speaker: str | None = None
    renames: tuple[tuple[str, str], ...] = ()

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Ids of calls to be answered by a later entry."""
        if self.native is not None:
            return self.native.call_ids
        return tuple(part.call_id for part in self.parts if isinstance(part, NeutralCall))

    @property
    def answer_ids(self) -> tuple[str, ...]:
        """Ids of earlier calls answered by the entry."""
        if self.native is not None:
            return self.native.answer_ids
        return tuple(part.call_id for part in self.parts if isinstance(part, ToolAnswer))


@dataclass(frozen=True)
class ConvertedWindow:
    """Messages in a provider's format.

    Attributes:
        items: Each message or item as JSON text; a native item keeps its stored text.
        system: The system prompt, if the format keeps the prompt apart from the messages.
        dropped: Losses of the conversion.
    """

    items: tuple[str, ...]
    system: str | None = None
    dropped: tuple[Loss, ...] = ()

    def bodies(self) -> list[JsonObject]:
        """Decode the items."""
        return [json.loads(item) for item in self.items]


def dump(value: object) -> str:
    """Write compact JSON without escapes for other scripts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_at(body: JsonObject, key: str) -> str:
    """Read a string, or "" for any other value, since the inside of a part is never checked."""
    value = body.get(key)
    return value if isinstance(value, str) else ""


def object_at(body: JsonObject, key: str) -> JsonObject:
    """Read an object, or an empty object for any other value."""
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def lost_fields(body: JsonObject, known: Collection[str]) -> list[Lost]:
    """List the fields with a value unread by the neutral form."""
    names = [
        key for key, value in body.items() if key not in known and value not in (None, False, 0, "", [], {})
    ]
    if not names:
        return []
    shown = ", ".join(name[:40] for name in names[:_NAMES_SHOWN])
    return [Lost(LossKind.FIELDS, f"has no place for {shown}")]


def losses_of(entry: NeutralEntry) -> list[Loss]:
    """List an entry's parts without a place in the neutral form."""
    parts: list[Part] = list(entry.parts)
    for part in entry.parts:
        if isinstance(part, ToolAnswer):
            parts.extend(part.parts)
    return [Loss(entry.seq, part.kind, part.why) for part in parts if isinstance(part, Lost)]


def empty_loss(entries: Sequence[NeutralEntry]) -> list[Loss]:
    """Report a vanished message, unless its other losses are already reported."""
    told = any(losses_of(entry) for entry in entries)
    return [] if told else [Loss(entries[0].seq, LossKind.EMPTY, "the message says nothing and was left out")]


def contents_of(parts: Sequence[Part]) -> list[Text | NeutralMedia]:
    """Keep the words and media, in order."""
    return [part for part in parts if isinstance(part, Text | NeutralMedia)]


def told_contents(parts: Sequence[Part]) -> list[Text | NeutralMedia]:
    """Keep media and non-blank words: providers refuse blank texts."""
    return [part for part in contents_of(parts) if not isinstance(part, Text) or part.text.strip()]


def says_something(content: object) -> bool:
    """Say whether content holds more than blank text."""
    if isinstance(content, str):
        return bool(content.strip())
    if not isinstance(content, list):
        return False
    return any(member(block, "type") != "text" or str(member(block, "text")).strip() for block in content)


def member(value: object, key: str) -> object:
    """Read a member of a JSON object; None of any other value."""
    return value.get(key) if isinstance(value, dict) else None


def has_words(body: JsonObject) -> bool:
    """Say whether a message has content; a user's message of no parts, or of blank parts only, has none."""
    content = body.get("content")
    return body.get("role") != "user" or not isinstance(content, list) or not all(map(_is_blank, content))


def _is_blank(part: JsonObject) -> bool:
    return part.get("type") in _TEXT_TYPES and not str(part.get("text") or "").strip()


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
