"""A tenant's switch of recall by user, and the user keys of stored passages that follow it."""

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text, update

from models.conversations.session import lock_existing
from models.database import Transaction
from models.due_work.queue import WorkKind, WorkState, enqueue
from models.recall.user import USER_KEYS, UserKey, recalls_users
from models.tenants.tenant import Tenant

USER_RECALL = "user-recall"
"""Key of the work that wakes a tenant's sessions after the switch."""

_STATES = text(f"""
    select kind, state, count(*) from due_work
    where tenant_id = :tenant_id and state <> '{WorkState.IDLE}'
        and (kind = '{WorkKind.USER_KEYS}' or (kind = '{WorkKind.WAKE}' and key = '{USER_RECALL}'))
    group by kind, state
""")  # noqa: S608 (names of our own)


@dataclass(frozen=True)
class UserRecall:
    """State of the switch.

    Attributes:
        enabled: True while requests may recall a user's other sessions.
        is_settled: True when the stored passages of every session follow the switch.
        sessions_waiting: Sessions known to wait; more may follow while the state is not settled.
        given_up: Pieces of work given up after repeated failures.
    """

    enabled: bool
    is_settled: bool
    sessions_waiting: int
    given_up: int


def switch_user_recall(db: Transaction, tenant_id: UUID, *, on: bool) -> None:
    """Switch recall across the sessions of a user; workers add or remove the user keys of stored passages."""
    db.execute(update(Tenant).where(Tenant.tenant_id == tenant_id).values(recalls_users=on))
    enqueue(db, tenant_id, WorkKind.WAKE, USER_RECALL)


def find_user_recall(db: Transaction, tenant_id: UUID) -> UserRecall:
    """Find the state of the switch and of the work behind it."""
    waiting: Counter[str] = Counter()
    for kind, state, pieces in db.execute(_STATES, {"tenant_id": tenant_id}):
        waiting["dead" if state == WorkState.DEAD else kind] += pieces
    sessions = waiting[WorkKind.USER_KEYS]
    is_settled = not sessions and not waiting[WorkKind.WAKE]
    return UserRecall(recalls_users(db, tenant_id), is_settled, sessions, waiting["dead"])


_SESSIONS = text(
    "select distinct session_id from turn where tenant_id = :tenant_id and user_id is not null "
    "and session_id > :after order by session_id limit :most"
)


def list_named_sessions(db: Transaction, tenant_id: UUID, *, after: str, most: int) -> list[str]:
    """List the sessions with turns that name a user, in the order of the ids."""
    asked = {"tenant_id": tenant_id, "after": after, "most": most}
    return list(db.execute(_SESSIONS, asked).scalars())


_WANTED = text("""
    select t.user_id from recall_passage p
    join turn t on t.tenant_id = p.tenant_id and t.session_id = p.session_id and t.turn_index = p.turn_index
    where p.tenant_id = :tenant_id and p.session_id = :session_id and p.user_keys is null
        and t.user_id is not null
    limit 1
""")
_ADD = text(f"""
    with chosen as (
        select p.start_seq, p.start from recall_passage p
        join turn t on t.tenant_id = p.tenant_id and t.session_id = p.session_id
            and t.turn_index = p.turn_index
        where p.tenant_id = :tenant_id and p.session_id = :session_id and p.user_keys is null
            and t.user_id = :user_id
        limit :most
    )
    update recall_passage passage set user_keys = {USER_KEYS} from chosen
    where passage.tenant_id = :tenant_id and passage.session_id = :session_id
        and passage.start_seq = chosen.start_seq and passage.start = chosen.start
""")  # noqa: S608 (parts of our own)
_REMOVE = text("""
    with chosen as (
        select start_seq, start from recall_passage
        where tenant_id = :tenant_id and session_id = :session_id and user_keys is not null limit :most
    )
    update recall_passage passage set user_keys = null from chosen
    where passage.tenant_id = :tenant_id and passage.session_id = :session_id
        and passage.start_seq = chosen.start_seq and passage.start = chosen.start
""")


def follow_switch(db: Transaction, tenant_id: UUID, session_id: str, *, most: int) -> int:
    """Add or remove the user keys of some stored passages of a session, as the switch says now.

    The session is locked meanwhile: the lock waits for an indexing worker with the former state of the
    switch. Safe to call again.

    Args:
        db: A transaction.
        tenant_id: The tenant.
        session_id: The session.
        most: Maximum number of passages, >= 1.

    Returns:
        Number of changed passages; fewer than `most` when the session follows the switch now, or is gone.
    """
    if not lock_existing(db, tenant_id, [session_id]):
        return 0
    place = {"tenant_id": tenant_id, "session_id": session_id}
    if not recalls_users(db, tenant_id):
        return db.execute(_REMOVE, {**place, "most": most}).rowcount
    changed = 0
    while changed < most and (user_id := db.execute(_WANTED, place).scalar()) is not None:
        halves = UserKey(tenant_id, user_id).halves
        named = {"user_id": user_id, "ones_in": list(halves), "halves": list(halves.values())}
        changed += db.execute(_ADD, {**place, **named, "most": most - changed}).rowcount
    return changed
