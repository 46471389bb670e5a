"""Result of decoding a reply: a value, or the cause of a missing value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

Accept: TypeAlias = Callable[[object], bool] | Mapping[str, Any]
"""Test of an answer: a predicate, or a JSON schema (see `context.decode.decode`)."""

Part: TypeAlias = Callable[[object], object | None]
"""Extracts a single list entry from a value, or None; several such values form an answer."""


class DecodeCause(StrEnum):
    """Cause of a missing answer; each cause needs a different reaction."""

    SAFETY = "safety"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    MALFORMED = "malformed"


class AnswerPlace(StrEnum):
    """Place of the answer in the reply."""

    RAW = "raw"
    FENCE = "fence"
    CANDIDATE = "candidate"


class ReplyRepair(StrEnum):
    """Repair of a reply; a repaired answer is less certain."""

    TRAILING_COMMA = "trailing-comma"
    MISSING_COMMA = "missing-comma"
    QUOTES = "quotes"
    INNER_QUOTES = "inner-quotes"
    LITERAL = "literal"
    NUMBER = "number"
    NON_FINITE = "non-finite"
    COMMENT = "comment"
    CONTROL_CHARACTER = "control-character"
    ESCAPE = "escape"
    BARE_KEY = "bare-key"
    REPEATED_KEY = "repeated-key"
    CLEANED = "cleaned"
    JOINED = "joined"


@dataclass(frozen=True)
class Decoded:
    """A reply's value, or the cause of a missing value.

    Attributes:
        value: The answer; `[]`, `{}` and None are answers too if accepted by `accept`: check `ok`.
        cause: Cause of a missing answer; None with an answer.
        how: Place of the answer; None without an answer.
        repairs: Repairs in alphabetical order; empty for valid JSON.
        detail: A short sentence for a log, without the reply's own words.
    """

    value: object = None
    cause: DecodeCause | None = None
    how: AnswerPlace | None = None
    repairs: tuple[ReplyRepair, ...] = ()
    detail: str = ""

    @property
    def ok(self) -> bool:
        """True with an answer."""
        return self.cause is None
