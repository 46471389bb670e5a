"""Reuse of the beginning of a chat's last request, so that a summary request shares the cached prefix."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from context.conversation.turns import read_history, split_turns
from context.summary.prompt import SummaryInput, riding_message
from context.tokens import count_text
from context.tokens.families import ModelFamily, family_of
from context.tokens.message import is_plain
from context.types import JsonObject, Message, Role
from context.window.types import ActiveSummary, Window, WindowRequest, new_message, notes_message
from context.wire.formats import format_of
from context.wire.openai.write import is_empty


class RideOutcome(StrEnum):
    """Outcomes of an attempted reuse; stored as a label of a count."""

    RIDDEN = "ridden"
    UNKNOWN = "no-known-prefix"
    OTHER_MODEL = "other-model"
    MARKED = "cache-needs-marks"
    OUTSIDE = "not-in-the-prefix"
    CHANGED = "prefix-has-changed"
    NO_ROOM = "no-room"
    DEARER = "costs-more"
    REFUSED = "refused"


@dataclass(frozen=True)
class ChatPrefix:
    """Beginning of a chat's last request, as far as the log and its summary can reproduce the text.

    Attributes:
        model: The model asked.
        system: The system prompt as sent, JSON; None for none.
        tools: The tool definitions, in order.
        notes_version: The summary before the messages; 0 for none.
        from_seq: The first message of the log, >= 1.
        to_seq: The last message of a finished turn, >= `from_seq`.
        sha256: Hash of the whole beginning, in hexadecimal digits.
    """

    model: str
    system: str | None
    tools: tuple[JsonObject, ...]
    notes_version: int
    from_seq: int
    to_seq: int
    sha256: str


@dataclass(frozen=True)
class Ride:
    """A beginning in a provider's cache, cut at the end of the messages to summarize.

    Attributes:
        items: The messages, each as JSON text, byte for byte as sent by the chat.
        tools: The tool definitions before the messages.
        tokens: The cost of both, by the stored counts.
        notes_version: The summary shown by the messages; 0 for none.
    """

    items: tuple[str, ...]
    tools: tuple[JsonObject, ...]
    tokens: int
    notes_version: int


def caches_by_itself(model: str) -> bool:
    """Say whether a provider caches without marks in the request.

    Anthropic's models cache only parts marked by the caller, and drop them when the choice of tools changes.
    """
    return family_of(model) is not ModelFamily.ANTHROPIC


def prefix_of(request: WindowRequest, window: Window, tools: Sequence[JsonObject]) -> ChatPrefix | None:
    """Return the part of a window that the next requests begin with, without parts made for one request.

    Args:
        request: The request behind the window.
        window: The window sent.
        tools: The tool definitions sent with the window.

    Returns:
        The system prompt, the summary and the whole turns after the summary; None if a part goes out in other
        words than stored, or if there is no turn.
    """
    notes = request.notes if window.certificate.summary_covers else None
    rest = window.messages[1:] if notes else window.messages
    stored = list(takewhile(lambda message: message.seq > 0, rest))
    turns = takewhile(lambda turn: turn.finished or turn.abandoned, split_turns(stored))
    stored = stored[: max((turn.stop for turn in turns), default=0)]
    system = request.system.raw if request.system else None
    items = _items(system, notes, stored)
    if (
        not format_of(request.wire).is_chat
        or not stored
        or items is None
        or window.items[: len(items)] != items
    ):
        return None
    version = notes.version if notes else 0
    sha256 = _digest(items, tools)
    return ChatPrefix(request.model, system, tuple(tools), version, stored[0].seq, stored[-1].seq, sha256)


def find_ride(
    prefix: ChatPrefix, notes: ActiveSummary | None, messages: Sequence[Message], *, up_to_seq: int
) -> Ride | None:
    """Rebuild the beginning from stored data, and cut it.

    Args:
        prefix: The beginning as sent.
        notes: The summary of the prefix's version; None for none.
        messages: The messages of the log from the prefix's first to its last, in order.
        up_to_seq: The end of the messages to summarize, the end of a turn within the prefix.

    Returns:
        The beginning, or None if any byte differs from the chat's request.
    """
    shown = _mended(messages)
    items = _items(prefix.system, notes, shown)
    if items is None or _digest(items, prefix.tools) != prefix.sha256:
        return None
    kept = [message for message in shown if message.seq <= up_to_seq]
    cut = _items(prefix.system, notes, kept) or ()
    beside = [prefix.system or "", *map(_dump, prefix.tools), notes_message(notes).raw if notes else ""]
    tokens = sum(message.tokens for message in kept) + sum(map(count_text, beside))
    return Ride(cut, prefix.tools, tokens, prefix.notes_version)


def ride_messages(ride: Ride, asked: SummaryInput, *, base_version: int) -> list[JsonObject]:
    """Write a request for notes behind the beginning: all but the last message is the chat's own.

    Args:
        ride: The beginning.
        asked: The content to summarize.
        base_version: The summary below the notes; 0 for none.
    """
    shows_base = base_version > 0 and base_version == ride.notes_version
    return [*map(json.loads, ride.items), riding_message(asked, shows_previous=shows_base)]


def _mended(messages: Sequence[Message]) -> list[Message]:
    """Mend stored messages like the assembler: an unanswered call is not sent."""
    history = read_history(messages, [new_message({"role": "user", "content": "?"}, Role.USER)])
    return [message for turn in history.turns for message in turn]


def _items(
    system: str | None, notes: ActiveSummary | None, messages: Sequence[Message]
) -> tuple[str, ...] | None:
    if any(not format_of(message.wire).is_chat and not is_plain(message) for message in messages):
        return None
    said = (message.raw for message in messages if not is_empty(message))
    return (*([system] if system else ()), *([notes_message(notes).raw] if notes else ()), *said)


def _digest(items: Sequence[str], tools: Sequence[JsonObject]) -> str:
    return hashlib.sha256(
        "\n".join([*map(_dump, tools), *items]).encode("utf-8", "surrogatepass")
    ).hexdigest()


def _dump(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
