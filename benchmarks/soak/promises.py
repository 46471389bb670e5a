"""What the platform was promised of each session: the acknowledgement log, kept by the client alone."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any


def digest(message: Any) -> str:
    """A message's words, shortly: equal for equal JSON."""
    return hashlib.sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()[:16]


@dataclass
class Session:
    """A conversation and what was acknowledged of it.

    Attributes:
        session_id: Its name.
        user_id: Whose it is.
        turns: The place of each turn that was acknowledged, by its id.
        said: The digest of each message that must be there; None where a part of it was erased.
        bodies: The last event, to send it again.
        start: The last message before its present life.
        wanted: Turns it will have before it is left.
        is_erased: Nothing of it may be there.
    """

    session_id: str
    user_id: str
    wanted: int
    turns: dict[str, tuple[int, int]] = field(default_factory=dict)
    said: dict[int, str | None] = field(default_factory=dict)
    last: dict[str, Any] | None = None
    start: int = 0
    is_erased: bool = False

    @property
    def path(self) -> str:
        """Where the API has it."""
        return f"/v1/sessions/{self.session_id}"

    @property
    def live(self) -> list[int]:
        """The messages of its present life that can be edited."""
        return [seq for seq, found in self.said.items() if seq > self.start and found]

    def keep(self, event: dict[str, Any], receipt: dict[str, Any]) -> str | None:
        """Note an acknowledgement. Returns what is wrong with it, None for nothing."""
        first, last = receipt["first_seq"], receipt["last_seq"]
        known = self.turns.get(event["turn_id"])
        if receipt["duplicate"]:
            return None if known == (first, last) else f"{self.session_id}: a duplicate has another place"
        if known is not None:
            return f"{self.session_id}: {event['turn_id']} was stored twice"
        if last - first + 1 != len(event["messages"]):
            return f"{self.session_id}: a turn took another number of places than it has messages"
        if any(seq in self.said for seq in range(first, last + 1)):
            return f"{self.session_id}: two turns share a place"
        self.turns[event["turn_id"]] = (first, last)
        self.said |= {seq: digest(body) for seq, body in enumerate(event["messages"], first)}
        self.last = event
        return None

    def changed(self, receipt: dict[str, Any], seq: int | None = None, message: Any = None) -> None:
        """Note an edit or an erasure by its receipt."""
        for gone in receipt["messages"]["removed"]:
            self.said.pop(gone, None)
        self.said |= dict.fromkeys(receipt["messages"]["rewritten"])
        if seq is not None:
            self.said[seq] = digest(message)
