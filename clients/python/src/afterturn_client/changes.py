"""Typed answers of calls that change conversations, and of lists."""

from __future__ import annotations

from pydantic import Field

from afterturn_client.models import ApiAnswer


class SyncedTurn(ApiAnswer):
    """A turn that a sync added or replaced."""

    turn_id: str
    turn_index: int
    first_seq: int
    last_seq: int
    change: str


class Synced(ApiAnswer):
    """Changes of a sync, in turns.

    Attributes:
        added: New turns.
        replaced: Turns that hold other words now.
        removed: Stored turns that the list no longer holds.
        unchanged: All others.
        turns: The added and replaced turns, oldest first.
        last_turn_id: The newest turn: `after_turn` of the next context.
        revision: The state of the log; send it with the next sync.
    """

    added: int
    replaced: int
    removed: int
    unchanged: int
    turns: list[SyncedTurn] = Field(default_factory=list)
    last_turn_id: str | None = None
    revision: str
    notes: list[str] = Field(default_factory=list)


class Changed(ApiAnswer):
    """A turn replaced, or turns removed.

    Attributes:
        last_turn_id: The newest turn that is left.
        revision: The state of the log.
    """

    last_turn_id: str | None = None
    revision: str | None = None


class Forked(ApiAnswer):
    """A session that began as a copy.

    Attributes:
        session_id: The new session.
        forked_from: Its source.
        last_turn_id: The last common turn.
        repeated: True if the fork was there already.
    """

    session_id: str
    forked_from: str
    last_turn_id: str
    repeated: bool = False


class TurnPart(ApiAnswer):
    """A turn with appended messages.

    Attributes:
        turn_id: The turn.
        length: The number of its messages: the next `index`.
        appended: The number of messages that were new.
        open: True if the turn takes more messages.
    """

    turn_id: str
    length: int
    appended: int
    open: bool


class SessionEntry(ApiAnswer):
    """A session in a list."""

    session_id: str
    turns: int
    model: str | None = None
    last_turn_at: str | None = None


class SessionPage(ApiAnswer):
    """A page of sessions; `next` is the cursor of the next page, None at the end."""

    sessions: list[SessionEntry]
    next: str | None = None


class UserEntry(ApiAnswer):
    """A user in a list."""

    user_id: str


class UserPage(ApiAnswer):
    """A page of users; `next` is the cursor of the next page, None at the end."""

    users: list[UserEntry]
    next: str | None = None
