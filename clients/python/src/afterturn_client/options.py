"""Options of a client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """Times and limits of a client.

    Attributes:
        timeout_s: Longest time of a call, all its attempts together, > 0.
        context_timeout_s: The same for a context that a chat waits for.
        record_timeout_s: The same for a turn at its end; a turn not stored by then waits in the outbox.
        chat_attempts: Most attempts of these two, >= 1.
        first_delay_s: Longest wait before the second attempt; doubles from attempt to attempt.
        most_delay_s: Longest wait between two attempts, unless the service asks for more.
        rest_s: After a failure, a chat asks the service again after so long; doubles up to `most_rest_s`.
        most_rest_s: Longest rest after failures.
        fail_open: Whether a chat goes on with the messages held here while the service is away.
        held_tokens: Most messages held for a session, in estimated tokens.
        held_sessions: Most sessions with held messages; the longest unused is forgotten.
        outbox_dir: Folder that keeps turns until they are stored by the service; None keeps them in memory.
            A folder serves one tenant, and any number of processes.
        outbox_turns: Most waiting turns; beyond, the oldest is given up, and a warning names it.
        outbox_bytes: Most bytes of waiting turns, likewise.
    """

    timeout_s: float = 30.0
    context_timeout_s: float = 8.0
    record_timeout_s: float = 8.0
    chat_attempts: int = 3
    first_delay_s: float = 0.1
    most_delay_s: float = 2.0
    rest_s: float = 0.5
    most_rest_s: float = 30.0
    fail_open: bool = True
    held_tokens: int = 32_000
    held_sessions: int = 256
    outbox_dir: str | Path | None = None
    outbox_turns: int = 1_000
    outbox_bytes: int = 64_000_000
