"""The neutral form between two wire formats, and the record of what a format has no place for."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from context.types import JsonObject, Message, Role

_NAMES_SHOWN = 6


class LossKind(StrEnum):
    """What could not be carried as it was."""

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
    """One thing that a conversion could not carry as it was.

    Attributes:
        seq: The message's place in the log; 0 where it is not stored.
        kind: What it is.
        why: What became of it, without a word of the message itself.
    """

    seq: int
    kind: LossKind
    why: str


class MediaKind(StrEnum):
    """The media that a message can hold."""

    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"


@dataclass(frozen=True)
class Text:
    """Words; a refusal is marked where the format can mark it."""

    text: str
    refusal: bool = False


@dataclass(frozen=True)
class Media:
    """An image, a sound or a file, by exactly one of base64 data, address or a vendor's file id.

    Attributes:
        kind: What it is.
        mime: Its media type, empty where nobody said.
        data: Base64 text.
        url: An address that the provider opens.
        file_id: The id under which `vendor` keeps it.
        vendor: Whose `file_id` it is: openai or anthropic.
        name: A file's name.
        detail: The resolution that the sender asked for.
    """

    kind: MediaKind
    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    vendor: str = ""
    name: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Lost:
    """Something that no other format has a place for."""

    kind: LossKind
    why: str


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` is JSON text, or free text for a free-form tool."""

    call_id: str
    name: str
    arguments: str
    free_form: bool = False


@dataclass(frozen=True)
class Answer:
    """What a tool call returned; only Anthropic has a flag for a failed one."""

    call_id: str
    parts: "tuple[Text | Media | Lost, ...]"
    is_error: bool = False


Content: TypeAlias = Text | Media | Lost
Part: TypeAlias = Content | Call | Answer


@dataclass(frozen=True)
class Entry:
    """One message, or a piece of one, on its way into another format.

    Attributes:
        seq: The message's place in the log.
        role: Who it comes from.
        parts: What it holds; empty for a native one.
        native: The stored message, where it is in the target format already.
        role_name: `developer` where a system message calls itself that.
        speaker: Who speaks.
        renames: New ids for a native message's calls and answers, where ids repeat.
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
        """Ids of the calls that something later must answer."""
        if self.native is not None:
            return self.native.call_ids
        return tuple(part.call_id for part in self.parts if isinstance(part, Call))

    @property
    def answer_ids(self) -> tuple[str, ...]:
        """Ids of the earlier calls that it answers."""
        if self.native is not None:
            return self.native.answer_ids
        return tuple(part.call_id for part in self.parts if isinstance(part, Answer))


@dataclass(frozen=True)
class ConvertedWindow:
    """Messages ready for one provider format.

    Attributes:
        items: Each message or item as JSON text; one that was in this format already is as it was stored.
        system: The system prompt, where the format keeps it apart from the messages.
        dropped: What could not be carried as it was.
    """

    items: tuple[str, ...]
    system: str | None = None
    dropped: tuple[Loss, ...] = ()

    def bodies(self) -> list[JsonObject]:
        """Decode the items."""
        return [json.loads(item) for item in self.items]


def dump(value: object) -> str:
    """Write JSON compactly, with every character as itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_at(body: JsonObject, key: str) -> str:
    """Read a string, or nothing where there is none: a part's inside was never checked."""
    value = body.get(key)
    return value if isinstance(value, str) else ""


def object_at(body: JsonObject, key: str) -> JsonObject:
    """Read an object, or an empty one where there is none."""
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def lost_fields(body: JsonObject, known: Collection[str]) -> list[Lost]:
    """Name the fields with a value that the neutral form does not read."""
    names = [
        key for key, value in body.items() if key not in known and value not in (None, False, 0, "", [], {})
    ]
    if not names:
        return []
    shown = ", ".join(name[:40] for name in names[:_NAMES_SHOWN])
    return [Lost(LossKind.FIELDS, f"has no place for {shown}")]


def losses_of(entry: Entry) -> list[Loss]:
    """List what an entry's reader could not put into the neutral form."""
    parts: list[Part] = list(entry.parts)
    for part in entry.parts:
        if isinstance(part, Answer):
            parts.extend(part.parts)
    return [Loss(entry.seq, part.kind, part.why) for part in parts if isinstance(part, Lost)]


def empty_loss(entries: Sequence[Entry]) -> list[Loss]:
    """Say that a message vanished, unless what it lost says so already."""
    told = any(losses_of(entry) for entry in entries)
    return [] if told else [Loss(entries[0].seq, LossKind.EMPTY, "the message says nothing and was left out")]


def contents_of(parts: Sequence[Part]) -> list[Text | Media]:
    """Keep the words and media, in order."""
    return [part for part in parts if isinstance(part, Text | Media)]


def told_contents(parts: Sequence[Part]) -> list[Text | Media]:
    """Keep the words and media that say something: providers refuse blank texts."""
    return [part for part in contents_of(parts) if not isinstance(part, Text) or part.text.strip()]
