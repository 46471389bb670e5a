"""Whole histories of stateless clients: the system prompt, the turns before, and the turn under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from afterturn_client._wires import starts_turn
from afterturn_client.streams.answer import Json, Wire


@dataclass(frozen=True)
class SplitHistory:
    """A history in parts.

    Attributes:
        system: The system prompt; None without one.
        older: The turns before.
        turn: The turn under way: the user's last words, and calls and results after them.
    """

    system: str | None
    older: list[Json]
    turn: list[Json]


def split_history(messages: Sequence[Mapping[str, Any]], wire: Wire = "openai") -> SplitHistory:
    """Split a history at the user's last words; several messages of the user in a row begin together."""
    plain = [dict(message) for message in messages]
    system = [message for message in plain if message.get("role") in ("system", "developer")]
    said = [message for message in plain if message not in system]
    last = max((at for at, message in enumerate(said) if starts_turn(message, wire)), default=0)
    while last and starts_turn(said[last - 1], wire):
        last -= 1
    prompt = "\n\n".join(_words(message) for message in system)
    return SplitHistory(prompt or None, said[:last], said[last:])


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n\n".join(str(part.get("text") or "") for part in content or [])
