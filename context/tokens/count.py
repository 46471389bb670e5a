"""A count: what is stored of a message's size, and what sums of messages are made of."""

from collections.abc import Iterable
from dataclasses import dataclass

MESSAGE_OVERHEAD = 4
"""Tokens around every message in the canonical count: its role and its ends."""

CALL_OVERHEAD = 6
"""Tokens around a tool call beside its name and arguments; ids are not billed."""

RESULT_OVERHEAD = 7
"""Tokens around a tool result beside its text."""

REPLY_OVERHEAD = 3
"""Tokens that open the reply, once a request."""


@dataclass(frozen=True)
class Count:
    """The size of a message, or of several together.

    Attributes:
        tokens: Canonical count: o200k_base tokens, media by rule, wrapping.
        wide: The same in the wide encoding; None where only the canonical count is known.
        messages: How many messages it covers.
        calls: How many tool calls they make.
    """

    tokens: int
    wide: int | None = None
    messages: int = 0
    calls: int = 0

    def __add__(self, other: "Count") -> "Count":
        """Add up; the sum knows the wide count only if both know it."""
        wide = None if self.wide is None or other.wide is None else self.wide + other.wide
        return Count(
            self.tokens + other.tokens, wide, self.messages + other.messages, self.calls + other.calls
        )


EMPTY = Count(tokens=0, wide=0)


def total(counts: Iterable[Count]) -> Count:
    """Add counts up.

    Args:
        counts: Any number of counts.

    Returns:
        Their sum, `EMPTY` for none.
    """
    return sum(counts, EMPTY)
