"""Stored size of a message, and sums of sizes."""

from collections.abc import Iterable
from dataclasses import dataclass

MESSAGE_OVERHEAD = 4
"""Canonical tokens around every message: the role and the delimiters."""

CALL_OVERHEAD = 6
"""Tokens around a tool call, without name and arguments; ids are not billed."""

RESULT_OVERHEAD = 7
"""Tokens around a tool result, without its text."""

REPLY_OVERHEAD = 3
"""Tokens at the start of the reply, once a request."""


@dataclass(frozen=True)
class Count:
    """Size of a message, or of several messages.

    Attributes:
        tokens: Canonical count: o200k_base tokens, media by rule, wrapping.
        wide: Count in the wide encoding; None if only the canonical count is known.
        messages: Number of messages.
        calls: Number of tool calls.
    """

    tokens: int
    wide: int | None = None
    messages: int = 0
    calls: int = 0

    def __add__(self, other: "Count") -> "Count":
        """Add two counts; the wide count is known only if both are known."""
        wide = None if self.wide is None or other.wide is None else self.wide + other.wide
        return Count(
            self.tokens + other.tokens, wide, self.messages + other.messages, self.calls + other.calls
        )


EMPTY = Count(tokens=0, wide=0)


def total(counts: Iterable[Count]) -> Count:
    """Add counts.

    Args:
        counts: Any number of counts.

    Returns:
        The sum, `EMPTY` for none.
    """
    return sum(counts, EMPTY)
