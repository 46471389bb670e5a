"""Values exchanged by the pure functions; shares with their confidence intervals."""

import json
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

JsonObject: TypeAlias = dict[str, Any]
"""A decoded JSON object: Any until read by a schema."""


class Wire(StrEnum):
    """Formats in which providers accept a conversation."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"


class Role(StrEnum):
    """Origin of a message, the same in every wire format."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True)
class Message:
    """One chat message: the facts used by the core, and the text as sent.

    Attributes:
        seq: Place in the session's log, 1..n; 0 while not stored.
        role: The origin of the message.
        tokens: The cost, in the canonical count of `context.tokens`, >= 0.
        raw: The message as a JSON object's text, cleaned once, otherwise as sent.
        call_ids: Ids of the tool calls made, in order.
        answer_ids: Ids of the tool calls answered, in order.
        wire: The format of `raw`.
        speaker: The speaker, if named by the platform.
        tokens_wide: The cost in the second count, a closer bound for other families' models.
        model: The model that answered in the turn; None if unknown.
        day: The day on which the turn ended, in UTC; None if unknown.
        compaction: The places of the provider's compacted window, if the message holds the provider's
            compaction: earlier messages that the provider kept, and 0 for the message itself; else empty.
    """

    seq: int
    role: Role
    tokens: int
    raw: str
    call_ids: tuple[str, ...] = ()
    answer_ids: tuple[str, ...] = ()
    wire: Wire = Wire.OPENAI
    speaker: str | None = None
    tokens_wide: int | None = None
    model: str | None = None
    day: date | None = None
    compaction: tuple[int, ...] = ()

    @cached_property
    def body(self) -> JsonObject:
        """The decoded message; decoded at the first call only, never changed by its readers."""
        body: JsonObject = json.loads(self.raw)
        return body

    @property
    def starts_turn(self) -> bool:
        """True if a turn begins here: words of a user, not the answer to a tool call."""
        return self.role is Role.USER and not self.answer_ids

    def with_counts(self, tokens: int, tokens_wide: int | None) -> "Message":
        """Return the same message with its costs; a decoded body stays decoded."""
        counted = object.__new__(Message)
        vars(counted).update(vars(self), tokens=tokens, tokens_wide=tokens_wide)
        vars(counted).pop("found", None)
        return counted

    @cached_property
    def found(self) -> dict[Hashable, Any]:
        """What functions of the message found; see `once_a_message`."""
        return {}


Facts = ParamSpec("Facts")
Found = TypeVar("Found")

MOST_FOUND = 32
"""Most results kept of a message: the other facts may be a caller's words, such as the model's name."""


def once_a_message(
    find: Callable[Concatenate[Message, Facts], Found],
) -> Callable[Concatenate[Message, Facts], Found]:
    """Keep the results of a function for as long as the message lives.

    Args:
        find: Depends on the message and on further hashable arguments alone; nobody changes its results.
    """

    @wraps(find)
    def kept(message: Message, /, *facts: Facts.args, **named: Facts.kwargs) -> Found:
        found = message.found
        key: Hashable = (find, *facts, *named.values()) if facts or named else find
        try:
            known: Found = found[key]
        except KeyError:
            if len(found) >= MOST_FOUND:
                found.clear()
            known = found[key] = find(message, *facts, **named)
        return known

    return kept


_Z = 1.959963984540054
"""Normal quantile of a 95 % interval."""


@dataclass(frozen=True)
class Share:
    """A share with its confidence interval: 0 <= low <= share <= high <= 1."""

    share: float
    low: float
    high: float


def wilson(found: float, of: float, *, z: float = _Z) -> Share | None:
    """Compute a share with its Wilson score interval, valid for small and extreme counts too.

    Args:
        found: Number found, 0 to `of`; a fraction where trials count in parts.
        of: Total number, >= 0.
        z: Normal quantile of the interval, > 0; without one, of 95 %.

    Returns:
        The share; None for a total of 0.

    Raises:
        ValueError: `found` is negative or above `of`.
    """
    if not 0 <= found <= of:
        raise ValueError("a share is of 0 to all")
    if of == 0:
        return None
    share, weight = found / of, z * z / of
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    low = 0.0 if found == 0 else max(middle - half, 0.0)
    high = 1.0 if found == of else min(middle + half, 1.0)
    return Share(share, min(low, share), max(high, share))
