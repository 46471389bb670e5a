"""Messages held here: the recent turns of each session, for the time that the service is away."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from afterturn_client._wires import estimate_tokens, whole_pairs
from afterturn_client.streams.answer import Json, Wire


class HeldTurns:
    """Keeps the newest turns of the sessions used last; safe to use from many threads."""

    def __init__(self, *, most_tokens: int, most_sessions: int) -> None:
        """Hold nothing yet.

        Args:
            most_tokens: Most estimated tokens of a session.
            most_sessions: Most sessions.
        """
        self._most_tokens, self._most_sessions = most_tokens, most_sessions
        self._turns: OrderedDict[str, list[tuple[int, list[Json]]]] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, session_id: str) -> bool:
        """Tell whether turns of a session are held."""
        return bool(self._turns.get(session_id))

    def add(self, session_id: str, turn: Sequence[Json], wire: Wire) -> None:
        """Hold a turn, its calls and results in pairs."""
        kept = whole_pairs(turn, wire)
        if not kept:
            return
        with self._lock:
            turns = self._turns.setdefault(session_id, [])
            self._turns.move_to_end(session_id)
            turns.append((estimate_tokens(kept), kept))
            while sum(tokens for tokens, _ in turns) > self._most_tokens and len(turns) > 1:
                del turns[0]
            while len(self._turns) > self._most_sessions:
                self._turns.popitem(last=False)

    def fill(self, session_id: str, turns: Sequence[Sequence[Json]], wire: Wire) -> None:
        """Hold turns from elsewhere, if none of the session are held."""
        if not self.has(session_id):
            for turn in turns:
                self.add(session_id, turn, wire)

    def forget(self, session_id: str) -> None:
        """Drop a session."""
        with self._lock:
            self._turns.pop(session_id, None)

    def newest(self, session_id: str, *, room_tokens: int) -> list[Json]:
        """Return the newest whole turns that fit into a room, in order."""
        with self._lock:
            turns = list(self._turns.get(session_id, ()))
        chosen: list[list[Json]] = []
        for tokens, turn in reversed(turns):
            room_tokens -= tokens
            if room_tokens < 0:
                break
            chosen.append(turn)
        return [message for turn in reversed(chosen) for message in turn]
