"""Erasing a whole session, turns of a session, and everything owned by a user."""

from collections.abc import Collection, Sequence

from sqlalchemy import text

from models.artifacts.attachment import drop_session_attachments, drop_user_attachments
from models.conversations.served_window import drop_windows, drop_windows_of_user
from models.conversations.session import claim_session
from models.conversations.session_state import SessionState
from models.database import Transaction
from models.erasure.artifacts import forget_titles, release
from models.erasure.derived import (
    WITH_THE_SESSION,
    delete_rows,
    drop_plans_of_session,
    drop_plans_of_user,
    drop_readings,
    drop_readings_of_user,
    drop_session_work,
)
from models.erasure.log import Receipt
from models.erasure.messages import Changed, remove_messages
from models.learning.habits import forget_profile, hold_profiles
from models.ledger.call import forget_session
from models.scope import Scope
from models.shadow.reads import unlink_reads

WHOLE_LOG = 2**62
STATEMENT_TIMEOUT_MS = 120_000
"""Statement timeout of an erasure: deleting a very long log takes longer than a request's timeout."""

COUNT_TIMEOUT_MS = 30_000
"""Longest wait of a user's erasure for the nightly count of habits."""


def take_time(db: Transaction) -> None:
    """Raise the statement timeout of this transaction above the timeout of other calls."""
    db.execute(text(f"set local statement_timeout = {STATEMENT_TIMEOUT_MS}"))


def erase_session(scope: Scope, session_id: str) -> Receipt:
    """Erase a session: the log, all derived data, the work, and the uploads for the session.

    The costs stay in the ledger, without the session's name. A later turn begins a new session of a later
    generation. Safe to call twice: the second receipt is empty. Turns arriving meanwhile wait, also without
    an existing session: each is erased whole or begins the session again.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
    """
    take_time(scope.db)
    return _erase(scope, session_id, claim_session(scope, session_id))


def _erase(scope: Scope, session_id: str, session: SessionState | None) -> Receipt:
    """Erase a claimed session, the row standing for the id included."""
    receipt = Receipt()
    drop_session_work(scope, session_id, receipt)
    drop_plans_of_session(scope, session_id, receipt)
    drop_readings(scope, session_id, receipt)
    used = _uses(scope, session_id)
    for table in WITH_THE_SESSION:
        receipt.count(table, delete_rows(scope, table, session_id))
    receipt.count("served_window", drop_windows(scope, session_id))
    attached = drop_session_attachments(scope, session_id)
    receipt.count("artifact_attachment", len(attached))
    release(scope, {*used, *attached}, receipt)
    forget_titles(scope, attached, receipt)
    receipt.count("shadow_read", unlink_reads(scope, session_id))
    gone = delete_rows(scope, "session", session_id)
    # Last: whoever writes a call down holds the session's row, so all that name it are to be seen by now.
    receipt.count("llm_call", forget_session(scope, session_id))
    if session is not None:
        receipt.count("session", gone)
        _remember(scope, session.generation)
    return receipt


_USES = text(
    "select distinct artifact_id from artifact_use where tenant_id = :tenant_id "
    "and session_id = :session_id and artifact_id is not null"
)


def _uses(scope: Scope, session_id: str) -> Sequence[str]:
    return scope.execute(_USES, session_id=session_id).scalars().all()


_REMEMBER = text(
    "update tenant set erased_generation = :generation "
    "where tenant_id = :tenant_id and erased_generation < :generation"
)


def _remember(scope: Scope, generation: int) -> None:
    """Record the erased generation, so that no later session of the tenant is taken for the erased session.

    See `lock_sessions`.
    """
    scope.execute(_REMEMBER, generation=generation)


_SESSIONS = text(
    "select distinct session_id from turn where tenant_id = :tenant_id and user_id = :user_id "
    "order by session_id"
)


def sessions_of_user(scope: Scope, user_id: str) -> Sequence[str]:
    """Find the sessions with a turn of the user."""
    return scope.execute(_SESSIONS, user_id=user_id).scalars().all()


_IS_SHARED = text(
    """
    select exists (select from turn where tenant_id = :tenant_id and session_id = :session_id
        and user_id is not null and user_id <> :user_id)
    """
)
_SEQS = text(
    """
    select m.seq from turn t
    join message m on m.tenant_id = t.tenant_id and m.session_id = t.session_id
        and m.seq between t.first_seq and t.last_seq
    where t.tenant_id = :tenant_id and t.session_id = :session_id and t.user_id = :user_id
    """
)
_TURNS = text(
    "delete from turn where tenant_id = :tenant_id and session_id = :session_id and user_id = :user_id"
)


def erase_user_from(scope: Scope, user_id: str, session_id: str) -> Receipt:
    """Erase a user's part of a session: the whole session, unless another user has turns there.

    From a shared session, the user's own turns go. Turns without a user stay with the others. The caller's
    transaction is about this session alone.

    Args:
        scope: The transaction and its tenant.
        user_id: The user.
        session_id: The session.
    """
    place = {"session_id": session_id, "user_id": user_id}
    take_time(scope.db)
    session = claim_session(scope, session_id)
    if not scope.execute(_IS_SHARED, **place).scalar_one():
        return _erase(scope, session_id, session)
    seqs = scope.execute(_SEQS, **place).scalars().all()
    changed = remove_messages(scope, session_id, seqs, reach=WHOLE_LOG) if seqs else None
    receipt = changed.receipt if changed else Receipt()
    receipt.count("turn", scope.execute(_TURNS, **place).rowcount)
    return receipt


def erase_user_belongings(scope: Scope, user_id: str) -> Receipt:
    """Erase a user's data outside of sessions: plans, documents, and readings for the user's words.

    Args:
        scope: The transaction and its tenant.
        user_id: The user.
    """
    receipt = Receipt()
    take_time(scope.db)
    scope.db.execute(text(f"set local lock_timeout = {COUNT_TIMEOUT_MS}"))
    hold_profiles(scope)
    drop_plans_of_user(scope, user_id, receipt)
    drop_readings_of_user(scope, user_id, receipt)
    receipt.count("served_window", drop_windows_of_user(scope, user_id))
    attached = drop_user_attachments(scope, user_id)
    receipt.count("artifact_attachment", len(attached))
    release(scope, attached, receipt)
    forget_titles(scope, attached, receipt)
    receipt.count("user_profile", forget_profile(scope, user_id))
    return receipt


_DROP_EMPTY = text(
    """
    delete from turn t
    where tenant_id = :tenant_id and session_id = :session_id and turn_index = any(:turns)
        and not exists (select from message m where m.tenant_id = t.tenant_id
            and m.session_id = t.session_id and m.seq between t.first_seq and t.last_seq)
    """
)


def remove_turns(scope: Scope, session_id: str, seqs: Collection[int]) -> Changed | None:
    """Remove the messages of whole turns, everything derived, and the rows of turns without messages.

    The ids of the removed turns are free again, unlike after an erasure: the caller takes back a part of the
    conversation, and tells the conversation as it is now.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        seqs: All messages of the turns, at least one.

    Returns:
        The changes; None without such a session or any of the messages.
    """
    changed = remove_messages(scope, session_id, seqs)
    if changed is not None:
        place = {"session_id": session_id, "turns": list(changed.turns)}
        changed.receipt.count("turn", scope.execute(_DROP_EMPTY, **place).rowcount)
    return changed


_SEQS_AFTER = text(
    """
    select seq from message
    where tenant_id = :tenant_id and session_id = :session_id and seq > :after_seq and seq <= :up_to_seq
    order by seq
    """
)
_DROP_AFTER = text(
    """
    delete from turn where tenant_id = :tenant_id and session_id = :session_id and first_seq > :after_seq
        and last_seq <= :up_to_seq
    """
)


def remove_span(scope: Scope, session_id: str, *, after_seq: int, up_to_seq: int) -> Changed | None:
    """Remove the turns with messages of `(after_seq, up_to_seq]`, also turns without messages left.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        after_seq: Last message before the turns.
        up_to_seq: Last message of the turns.

    Returns:
        The changes; None where no message was left.
    """
    span = {
        "session_id": session_id,
        "after_seq": after_seq,
        "up_to_seq": up_to_seq,
    }
    take_time(scope.db)
    seqs = scope.execute(_SEQS_AFTER, **span).scalars().all()
    changed = remove_turns(scope, session_id, seqs) if seqs else None
    rows = scope.execute(_DROP_AFTER, **span).rowcount
    if changed is not None:
        changed.receipt.count("turn", rows)
    return changed


def merged(changes: Collection[Changed]) -> Receipt:
    """Add up the receipts of several changes."""
    receipt = Receipt()
    for change in changes:
        receipt.add(change.receipt)
    return receipt
