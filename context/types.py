"""The values that the pure functions exchange."""

import json
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A decoded JSON object: Any until a schema has read it."""


class Wire(StrEnum):
    """The shapes in which providers take a conversation."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    RESPONSES = "responses"


class Role(StrEnum):
    """Who a message comes from, the same in every wire format."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True)
class Message:
    """One chat message: the facts that the core works with, and the text as it was sent.

    Attributes:
        seq: Place in the session's log, 1..n; 0 while it is not stored.
        role: Who it comes from.
        tokens: Its cost, in the canonical count of `context.tokens`, >= 0.
        raw: The message as a JSON object's text, cleaned once, otherwise as sent.
        call_ids: Ids of the tool calls it makes, in order.
        answer_ids: Ids of the tool calls it answers, in order.
        wire: The format in which `raw` is written.
        speaker: Who speaks, where the platform named somebody.
        tokens_wide: Its cost in the second count, which bounds other families' models more closely.
        model: The model that answered in its turn; None where nobody said.
        day: When its turn ended, as a day of UTC; None where nobody said.
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

    @cached_property
    def body(self) -> JsonObject:
        """The decoded message; decoded at the first call only, never changed by its readers."""
        body: JsonObject = json.loads(self.raw)
        return body

    @property
    def starts_turn(self) -> bool:
        """Whether a turn begins here: words of a user, not the answer to a tool call."""
        return self.role is Role.USER and not self.answer_ids
