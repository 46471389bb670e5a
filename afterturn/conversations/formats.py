"""Reading of conversations from files by the shape of the data, and splitting into turn events."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, NoReturn

from context.conversation.turns import parse_turn_boundaries, split_steps
from context.errors import InvalidInputError
from context.types import JsonObject, Message, Role, Wire
from context.wire import describe

MESSAGES_PER_TURN = 500
"""Most messages in an event, by the API's default."""


@dataclass(frozen=True)
class EventLine:
    """A message of a file, with its metadata.

    Attributes:
        message: The message in the OpenAI chat shape, as written.
        model: The model in use.
        usage: Usage from the provider, with OpenAI's names.
        at: Time of writing, ISO 8601.
    """

    message: JsonObject
    model: str | None = None
    usage: JsonObject | None = None
    at: str | None = None


@dataclass(frozen=True)
class Transcript:
    """A conversation as read from a file.

    Attributes:
        entries: The messages in order.
        name: The name in the file.
        context_window: The model's window in tokens, if given in the file.
        skipped: Number of entries other than messages, by kind.
    """

    entries: tuple[EventLine, ...]
    name: str | None = None
    context_window: int | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TurnEvent:
    """A finished turn, ready to be posted."""

    turn_id: str
    messages: tuple[JsonObject, ...]
    model: str | None = None
    context_window: int | None = None
    usage: JsonObject | None = None
    speaker: str | None = None
    completed_at: str | None = None

    def body(self) -> JsonObject:
        """Write the event as JSON for the API; unknown values are left out."""
        fields = ("turn_id", "messages", "model", "context_window", "usage", "speaker", "completed_at")
        values = ((name, getattr(self, name)) for name in fields)
        return {name: value for name, value in values if value is not None}


@dataclass(frozen=True)
class Conversation:
    """A conversation as turn events.

    Attributes:
        events: The turns in order.
        system_prompt: Instructions at the start; part of requests, not of turns.
        system_messages: Number of messages with instructions.
        name: The name in the file.
        skipped: Number of entries other than messages, by kind.
    """

    events: tuple[TurnEvent, ...]
    system_prompt: str | None = None
    system_messages: int = 0
    name: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        """Number of messages in all turns."""
        return sum(len(event.messages) for event in self.events)


def to_conversation(transcript: Transcript, *, max_messages: int = MESSAGES_PER_TURN) -> Conversation:
    """Split a transcript into turn events.

    A turn's id is its place, so a repeated replay repeats the ids: stored turns count as duplicates, and a
    changed turn is refused instead of stored twice.

    Args:
        transcript: The file's conversation.
        max_messages: The most messages in an event, >= 1; a longer turn is sent in parts.

    Returns:
        The conversation; parts of a long turn never separate a call from its results.

    Raises:
        InvalidInputError: A message cannot be sent, or a step of a turn is larger than an event.
    """
    messages = [_read(entry.message, index) for index, entry in enumerate(transcript.entries)]
    system = len(list(takewhile(lambda message: message.role is Role.SYSTEM, messages)))
    entries = transcript.entries[system:]
    return Conversation(
        events=tuple(_events(entries, messages[system:], transcript.context_window, max_messages)),
        system_prompt="\n\n".join(_text(entry.message) for entry in transcript.entries[:system]) or None,
        system_messages=system,
        name=transcript.name,
        skipped=Counter(transcript.skipped),
    )


def _read(body: JsonObject, index: int) -> Message:
    facts = describe(body, Wire.OPENAI, f"messages[{index}]")
    return Message(index, facts.role, 0, "", facts.call_ids, facts.answer_ids, speaker=facts.speaker)


def _events(
    entries: Sequence[EventLine], messages: Sequence[Message], window: int | None, max_messages: int
) -> Iterator[TurnEvent]:
    edges = [*parse_turn_boundaries(messages), len(messages)]
    for number, (start, stop) in enumerate(pairwise(edges), start=1):
        parts = _parts(messages[start:stop], max_messages)
        speaker = next((m.speaker for m in messages[start:stop] if m.starts_turn), None)
        for part, span in enumerate(parts, start=1):
            turn_id = f"turn-{number:05d}" if len(parts) == 1 else f"turn-{number:05d}.{part}"
            yield _event(turn_id, entries[start + span.start : start + span.stop], speaker, window)


def _parts(turn: Sequence[Message], max_messages: int) -> list[range]:
    """Pack the steps of a turn into as few events as the limit allows."""
    if len(turn) <= max_messages:
        return [range(len(turn))]
    parts = [range(0)]
    for step in split_steps(turn):
        if len(step) > max_messages:
            where = f"messages[{turn[step.start].seq}]"
            raise InvalidInputError(
                where, f"begins {len(step)} messages of calls and results; an event holds {max_messages}"
            )
        if step.stop - parts[-1].start > max_messages:
            parts.append(step)
        else:
            parts[-1] = range(parts[-1].start, step.stop)
    return parts


def _event(turn_id: str, entries: Sequence[EventLine], speaker: str | None, window: int | None) -> TurnEvent:
    newest_first = entries[::-1]
    return TurnEvent(
        turn_id=turn_id,
        messages=tuple(entry.message for entry in entries),
        model=next((entry.model for entry in newest_first if entry.model), None),
        context_window=window,
        usage=next((entry.usage for entry in newest_first if entry.usage), None),
        speaker=speaker,
        completed_at=next((entry.at for entry in newest_first if entry.at), None),
    )


def _text(message: JsonObject) -> str:
    """Read the words of a system message, whether a string or parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or ())


SESSION_ENTRY = "message"
USED_ENTRIES = frozenset({SESSION_ENTRY, "session", "model_change"})
"""Entries of a recorded session with data on turns; others are counted and left out."""

_GZIP = b"\x1f\x8b"
_EXPECTED = (
    "expected messages with a role, conversations with `messages`, or entries of a recorded session "
    'with `"type": "message"`'
)


def read_conversations(path: Path, *, max_messages: int = MESSAGES_PER_TURN) -> list[Conversation]:
    """Read a JSON or JSONL file, gzipped or not.

    Args:
        path: The file.
        max_messages: The most messages in a turn event, >= 1.

    Returns:
        The conversations, at least one; each has at least one turn.

    Raises:
        InvalidInputError: The file is not a conversation; the error names line, message and reason.
        OSError: The file cannot be read.
    """
    transcripts = parse_transcripts(path.read_bytes())
    read = []
    for number, transcript in enumerate(transcripts, start=1):
        try:
            read.append(to_conversation(transcript, max_messages=max_messages))
        except InvalidInputError as error:
            field = f"conversation {number}, {error.field}" if len(transcripts) > 1 else error.field
            raise InvalidInputError(field, error.message.removeprefix(f"{error.field}: ")) from error
    if not any(conversation.events for conversation in read):
        raise InvalidInputError("file", "holds no turn: there is no message besides system messages")
    return [conversation for conversation in read if conversation.events]


def parse_transcripts(data: bytes) -> list[Transcript]:
    """Read the conversations in a file's bytes.

    Args:
        data: JSON or JSON lines in UTF-8, gzipped or not.

    Returns:
        The conversations, in order.

    Raises:
        InvalidInputError: The shape is unknown.
    """
    values = _decode(data)
    if not values:
        raise InvalidInputError("file", "is empty")
    if all(_is_message(value) for value in values):
        return [_from_messages(values)]
    if any(_is_session_entry(value) for value in values):
        return [_from_session(values)]
    return [
        transcript
        for number, value in enumerate(values, start=1)
        for transcript in _conversations(value, f"line {number}" if len(values) > 1 else "file")
    ]


def _decode(data: bytes) -> list[Any]:
    """Read the value of a JSON file, or a value per line; an array of objects counts as its objects."""
    try:
        text = (gzip.decompress(data) if data.startswith(_GZIP) else data).decode("utf-8-sig")
    except (UnicodeDecodeError, EOFError, OSError) as error:
        raise InvalidInputError("file", f"is not UTF-8 text: {error}") from error
    try:
        values = [_load(text)]
    except ValueError as whole:
        # U+2028 and its like are characters of a JSON string, not ends of a line.
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        values = [_load_line(number, line, whole) for number, line in lines]
    return values[0] if len(values) == 1 and isinstance(values[0], list) else values


def _load(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _load_line(number: int, line: str, whole: ValueError) -> Any:
    try:
        return _load(line)
    except ValueError as error:
        reason = f"is not JSON: {error}; the file as a whole is not JSON either: {whole}"
        raise InvalidInputError(f"line {number}", reason) from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def _is_session_entry(value: Any) -> bool:
    return (
        isinstance(value, dict) and value.get("type") == SESSION_ENTRY and _is_message(value.get("message"))
    )


def _conversations(value: Any, where: str) -> list[Transcript]:
    if isinstance(value, list) and value and all(_is_message(item) for item in value):
        return [_from_messages(value)]
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return [_from_object(value, where)]
    raise InvalidInputError(where, f"has an unknown shape; {_EXPECTED}")


def _from_messages(messages: Sequence[JsonObject], model: str | None = None) -> Transcript:
    return Transcript(entries=tuple(EventLine(message, model=model) for message in messages))


def _from_object(value: JsonObject, where: str) -> Transcript:
    for index, message in enumerate(value["messages"]):
        if not _is_message(message):
            raise InvalidInputError(f"{where}, messages[{index}]", "is not a message with a role")
    name, window = value.get("name", value.get("id")), value.get("context_window")
    return Transcript(
        entries=_from_messages(value["messages"], _text_or_none(value.get("model"))).entries,
        name=None if name is None else str(name),
        context_window=window if isinstance(window, int) and not isinstance(window, bool) else None,
    )


def _from_session(entries: Sequence[Any]) -> Transcript:
    """Read a recorded session: messages among other events."""
    model: str | None = None
    read: list[EventLine] = []
    skipped: Counter[str] = Counter()
    for entry in entries:
        kind = str(entry.get("type")) if isinstance(entry, dict) else "not an object"
        if kind not in USED_ENTRIES or (kind == SESSION_ENTRY and not _is_session_entry(entry)):
            skipped[kind] += 1
            continue
        meta = entry.get("meta") or {}
        model = _text_or_none(meta.get("model")) or _text_or_none(entry.get("modelId")) or model
        if kind == SESSION_ENTRY:
            at = _text_or_none(entry.get("timestamp"))
            read.append(EventLine(entry["message"], model, _openai_usage(meta.get("usage")), at))
    return Transcript(entries=tuple(read), skipped=skipped)


def _openai_usage(usage: Mapping[str, int] | None) -> JsonObject | None:
    """Rename the usage of a recorded session; an aborted answer's zeros are ignored."""
    if not usage or not usage.get("totalTokens"):
        return None
    cached, written = usage.get("cacheRead", 0), usage.get("cacheWrite", 0)
    return {
        "prompt_tokens": usage.get("input", 0) + cached + written,
        "completion_tokens": usage.get("output", 0),
        "total_tokens": usage["totalTokens"],
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
