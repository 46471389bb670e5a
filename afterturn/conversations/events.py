"""Splitting of a conversation into turn events: whole turns with the same ids at every replay."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

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
