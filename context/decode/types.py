"""What decoding a reply gives: a value, or the cause for which there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

Accept: TypeAlias = Callable[[object], bool] | Mapping[str, Any]
"""Which values are an answer: a predicate, or a JSON schema (see `context.decode.shape`)."""

Part: TypeAlias = Callable[[object], object | None]
"""Takes from a value the one entry of a list that it is, or None: several such values are one answer."""


class DecodeCause(StrEnum):
    """Why there is no answer; each asks for something else."""

    SAFETY = "safety"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    MALFORMED = "malformed"


class How(StrEnum):
    """Where the answer was found."""

    RAW = "raw"
    FENCE = "fence"
    CANDIDATE = "candidate"


class Repair(StrEnum):
    """What had to be overlooked or put right: the answer is less certain than it looks."""

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
    """A reply's value, or why there is none.

    Attributes:
        value: The answer; `[]`, `{}` and None are answers too where `accept` takes them: ask `ok`.
        cause: Why there is no answer; None where there is one.
        how: Where the answer was found; None without one.
        repairs: What had to be put right, in alphabetical order; empty for JSON as it should be.
        detail: A short sentence for a log, without the reply's own words.
    """

    value: object = None
    cause: DecodeCause | None = None
    how: How | None = None
    repairs: tuple[Repair, ...] = ()
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.cause is None
