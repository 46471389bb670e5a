"""Effects of a tenant's switch of recall by user on stored passages: user keys are added or removed."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from models.conversations.session import lock_existing
from models.database import Transaction
from models.due_work.queue import WorkKind, enqueue_many
from models.recall.user import UserKey

_SESSIONS = text(
    "select distinct session_id from turn where tenant_id = :tenant_id and user_id is not null "
    "and session_id > :after order by session_id limit :most"
)


def find_sessions_with_users(db: Transaction, tenant_id: UUID, *, after: str, most: int) -> Sequence[str]:
    """Find sessions with a user in any turn, in the order of the ids, after an id."""
    asked = {"tenant_id": tenant_id, "after": after, "most": most}
    return db.execute(_SESSIONS, asked).scalars().all()


_WANTED = text("""
    select distinct t.user_id from recall_passage p
    join turn t on t.tenant_id = p.tenant_id and t.session_id = p.session_id and t.turn_index = p.turn_index
    where p.tenant_id = :tenant_id and p.session_id = :session_id and p.user_keys is null
        and t.user_id is not null
""")
_ADD = text("""
    update recall_passage p
    set user_keys = array(select cast(:half as bigint) << 32 | (key & 4294967295) from unnest(p.keys) key)
    from turn t
    where p.tenant_id = :tenant_id and p.session_id = :session_id and p.user_keys is null
        and t.tenant_id = p.tenant_id and t.session_id = p.session_id and t.turn_index = p.turn_index
        and t.user_id = :user_id
""")
_REMOVE = text(
    "update recall_passage set user_keys = null "
    "where tenant_id = :tenant_id and session_id = :session_id and user_keys is not null"
)


def _add_keys(db: Transaction, tenant_id: UUID, session_id: str) -> int:
    """Add the user keys to already indexed passages. Returns the number of passages.

    The caller holds the session: the lock waits for a worker with the former state of the switch.
    """
    place = {"tenant_id": tenant_id, "session_id": session_id}
    users = db.execute(_WANTED, place).scalars().all()
    return sum(
        db.execute(_ADD, {**place, "user_id": user_id, "half": UserKey(tenant_id, user_id).half}).rowcount
        for user_id in users
    )


def _remove_keys(db: Transaction, tenant_id: UUID, session_id: str) -> int:
    """Remove the user keys from a session's passages. Returns the number of passages."""
    return db.execute(_REMOVE, {"tenant_id": tenant_id, "session_id": session_id}).rowcount


_FOUND = text("select count(*) from recall_passage where tenant_id = :tenant_id and user_keys is not null")


def count_found(db: Transaction, tenant_id: UUID) -> int:
    """Count a tenant's passages with user keys."""
    return int(db.execute(_FOUND, {"tenant_id": tenant_id}).scalar_one())


def carry_out(db: Transaction, tenant_id: UUID, *, on: bool, after: str, most: int) -> str | None:
    """Apply the switch to the stored passages of some sessions. Safe to call again.

    Each session is locked meanwhile: the lock waits for an indexing worker with the former state of the
    switch.

    Args:
        db: A transaction.
        tenant_id: The tenant of the sessions.
        on: True to add user keys, and to request the indexing of unindexed messages.
        after: Id of the session before the first; empty for the first.
        most: Maximum number of sessions, >= 1.

    Returns:
        The last session, to go on from; None after the last session.
    """
    asked = {"tenant_id": tenant_id, "after": after, "most": most}
    sessions: Sequence[str] = db.execute(_SESSIONS, asked).scalars().all()
    lock_existing(db, tenant_id, sessions)
    for session_id in sessions:
        (_add_keys if on else _remove_keys)(db, tenant_id, session_id)
    if on and sessions:
        enqueue_many(db, tenant_id, WorkKind.RECALL, sessions)
    return sessions[-1] if sessions else None
