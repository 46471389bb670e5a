"""Reading of conversations from files; the shape of the data decides, never the file's name."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from afterturn.conversations.events import (
    MESSAGES_PER_TURN,
    Conversation,
    EventLine,
    Transcript,
    to_conversation,
)
from context.errors import InvalidInputError
from context.types import JsonObject

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
