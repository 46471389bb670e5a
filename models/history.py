"""Reading the log: ranges of a session's messages, and the turns that they belong to."""

from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, func, select

from context.types import Message, Role, Wire
from models.log import StoredMessage
from models.session import Transaction

_MESSAGE_COLUMNS = (
    StoredMessage.seq,
    StoredMessage.role,
    StoredMessage.tokens,
    StoredMessage.body,
    StoredMessage.call_ids,
    StoredMessage.answer_ids,
    StoredMessage.wire,
    StoredMessage.speaker,
    StoredMessage.tokens_wide,
)
_OF_SESSION = select(*_MESSAGE_COLUMNS).where(
    StoredMessage.tenant_id == bindparam("tenant_id"), StoredMessage.session_id == bindparam("session_id")
)
_NEWEST_FIRST = (
    _OF_SESSION.where(StoredMessage.seq > bindparam("after_seq"), StoredMessage.seq <= bindparam("up_to_seq"))
    .order_by(StoredMessage.seq.desc())
    .limit(bindparam("most"))
)
_OLDEST_FIRST = (
    _OF_SESSION.where(StoredMessage.seq > bindparam("after_seq"), StoredMessage.seq <= bindparam("up_to_seq"))
    .order_by(StoredMessage.seq)
    .limit(bindparam("most"))
)


def load_newest(
    db: Transaction, tenant_id: UUID, session_id: str, *, after_seq: int, up_to_seq: int, most: int
) -> list[Message]:
    """The newest messages of `(after_seq, up_to_seq]`, at most `most` of them, oldest first."""
    rows = db.execute(
        _NEWEST_FIRST,
        {
            "tenant_id": tenant_id,
            "session_id": session_id,
            "after_seq": after_seq,
            "up_to_seq": up_to_seq,
            "most": most,
        },
    ).all()
    return [_message(row) for row in reversed(rows)]


def load_oldest(
    db: Transaction, tenant_id: UUID, session_id: str, *, after_seq: int, up_to_seq: int, most: int
) -> list[Message]:
    """The oldest messages of `(after_seq, up_to_seq]`, at most `most` of them, oldest first."""
    rows = db.execute(
        _OLDEST_FIRST,
        {
            "tenant_id": tenant_id,
            "session_id": session_id,
            "after_seq": after_seq,
            "up_to_seq": up_to_seq,
            "most": most,
        },
    )
    return [_message(row) for row in rows]


def _message(row: Any) -> Message:
    return Message(
        row[0],
        Role(row[1]),
        row[2],
        row[3],
        tuple(row[4]) if row[4] else (),
        tuple(row[5]) if row[5] else (),
        Wire(row[6]),
        row[7],
        row[8],
    )


def tokens_between(
    db: Transaction, tenant_id: UUID, session_id: str, *, after_seq: int, up_to_seq: int
) -> int:
    """The tokens of the messages of `(after_seq, up_to_seq]`."""
    return db.execute(
        select(func.coalesce(func.sum(StoredMessage.tokens), 0)).where(
            StoredMessage.tenant_id == tenant_id,
            StoredMessage.session_id == session_id,
            StoredMessage.seq > after_seq,
            StoredMessage.seq <= up_to_seq,
        )
    ).scalar_one()
