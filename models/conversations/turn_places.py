"""Places of stored turns: by id, by index, and the newest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from models.conversations.log import CHANGED, OPEN, AcceptedTurn, NewTurn
from models.conversations.session_state import SessionState
from models.database import Transaction
from models.encryption.keys import TextCipher


@dataclass(frozen=True)
class StoredTurn:
    """A turn's row without its messages.

    Attributes:
        turn_id: The platform's id of the turn.
        turn_index: Place in the session.
        first_seq: First message of the turn.
        last_seq: Last message of the turn.
        body_sha256: Stored digest of the event, or a mark.
    """

    turn_id: str
    turn_index: int
    first_seq: int
    last_seq: int
    body_sha256: bytes

    @property
    def is_open(self) -> bool:
        """True if more messages of the turn are expected."""
        return self.body_sha256 == OPEN

    def placed_in(self, session_id: str) -> AcceptedTurn:
        """Return the place of the turn, as told to a repeated delivery."""
        return AcceptedTurn(
            session_id, self.turn_id, self.turn_index, self.first_seq, self.last_seq, duplicate=True
        )

    def is_told_by(self, cells: TextCipher, turn: NewTurn) -> bool:
        """Tell whether the turn was stored from the same event, and not changed since."""
        if self.body_sha256 in (CHANGED, OPEN):
            return False
        return self.body_sha256 == turn.body_sha256 or self.body_sha256 in cells.digests(turn.body_sha256)


_COLUMNS = "turn_id, turn_index, first_seq, last_seq, body_sha256"
_BY_ID = text(
    f"""
    select {_COLUMNS} from turn
    where tenant_id = :tenant_id and session_id = :session_id and turn_id = :turn_id
    """  # noqa: S608 (names of ours)
)
_NEWEST = text(
    f"""
    select {_COLUMNS} from turn
    where tenant_id = :tenant_id and session_id = :session_id and first_seq > :start_seq
    order by turn_index desc limit 1
    """  # noqa: S608 (names of ours)
)
_AT = text(
    """
    select session_id, turn_id, turn_index, first_seq, last_seq from turn
    where tenant_id = :tenant_id and session_id = :session_id and turn_index = any(:indexes)
    order by turn_index
    """
)


def find_turn(db: Transaction, tenant_id: UUID, session_id: str, turn_id: str) -> StoredTurn | None:
    """Find a turn by the platform's id."""
    return _one(db.execute(_BY_ID, {"tenant_id": tenant_id, "session_id": session_id, "turn_id": turn_id}))


def newest_turn(db: Transaction, tenant_id: UUID, session: SessionState) -> StoredTurn | None:
    """Find a session's newest turn since the last reset."""
    asked = {"tenant_id": tenant_id, "session_id": session.session_id, "start_seq": session.start_seq}
    return _one(db.execute(_NEWEST, asked))


def _one(found: Any) -> StoredTurn | None:
    row = found.one_or_none()
    return StoredTurn(row[0], row[1], row[2], row[3], bytes(row[4])) if row else None


def find_turns_at(
    db: Transaction, tenant_id: UUID, session_id: str, indexes: Sequence[int]
) -> list[AcceptedTurn]:
    """Find the places of turns by index, oldest first; missing turns are passed over."""
    asked = {"tenant_id": tenant_id, "session_id": session_id, "indexes": list(indexes)}
    return [AcceptedTurn(*row) for row in db.execute(_AT, asked)] if indexes else []
