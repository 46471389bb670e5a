"""Where requests leave a provider's cache: the first part that changed, and the tokens from it on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from context.types import JsonObject

LEAST_LOST = 300
"""Tokens read anew beyond the new messages, below which a request counts as kept."""


@dataclass
class Trace:
    """Causes of tokens read anew, over the requests of one conversation.

    Attributes:
        lost: Tokens read anew beyond the new messages, by what stood first at the change before and after.
    """

    lost: Counter[str] = field(default_factory=Counter)
    _before: Sequence[JsonObject] = ()

    def note(self, messages: Sequence[JsonObject], *, read_anew: int, new: int) -> None:
        """Note a request: its tokens read anew, and those of its new messages among them."""
        before, self._before = self._before, messages
        if before and read_anew - new > LEAST_LOST:
            self.lost[_change(before, messages)] += read_anew - new


def _change(before: Sequence[JsonObject], after: Sequence[JsonObject]) -> str:
    place = next(
        (place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
        min(len(before), len(after)),
    )
    return " -> ".join(
        _part(messages[place]) if place < len(messages) else "end" for messages in (before, after)
    )


def _part(message: JsonObject) -> str:
    """Name a message by the tag that it begins with, else by its role."""
    content: Any = message.get("content")
    is_tagged = isinstance(content, str) and content.startswith("<")
    return content[1:].split(">")[0].split(" ")[0] if is_tagged else str(message["role"])
