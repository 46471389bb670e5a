"""Notes on a session: limit of history, refused parts, reset, and the prefix of the chat's last request."""

from datetime import timedelta

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Text,
    delete,
    func,
    select,
    text,
    true,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from context.tokens.budget import HistoryLimit
from models.base import SESSION_KEY, Base, TenantPart
from models.conversations.session import STATE_COLUMNS, Session, find_session
from models.conversations.session_state import NOTHING_SUMMARIZED, SessionState, history_limit, is_due
from models.due_work.queue import WorkKind, enqueue
from models.scope import Scope
from models.tenants.tenant import Tenant

LEAST_HISTORY_TOKENS = 1_000
"""A lower limit holds no summary and hardly a turn, and every turn would be summarized."""

HISTORY_LIMIT = "history-limit"
"""Key of the work that wakes a tenant's sessions after a lower limit."""

WOKEN_FOR = timedelta(days=30)
"""Age of the newest turn up to which a tenant's limit wakes a session; an older session may never go on."""


def tenant_history_limit(scope: Scope) -> HistoryLimit | None:
    """Find the limit for a tenant's sessions without a limit of the session; None without a limit."""
    found = select(Tenant.max_history_tokens).where(Tenant.tenant_id == scope.tenant_id)
    return history_limit(None, scope.db.execute(found).scalar())


def set_tenant_history_limit(scope: Scope, tokens: int | None) -> None:
    """Set the limit of a tenant, in tokens of the called model; None removes the limit.

    A lower limit queues the work that finds the sessions whose summaries are due now.
    """
    row = (
        select(Tenant.max_history_tokens)
        .where(Tenant.tenant_id == scope.tenant_id)
        .with_for_update(key_share=True)
    )
    before = scope.db.execute(row).scalar()
    scope.db.execute(
        update(Tenant).where(Tenant.tenant_id == scope.tenant_id).values(max_history_tokens=tokens)
    )
    if tokens is not None and (before is None or tokens < before):
        enqueue(scope, WorkKind.WAKE, HISTORY_LIMIT)


def set_session_history_limit(scope: Scope, session_id: str, tokens: int | None) -> bool:
    """Set a session's own limit, and queue its summary where due; None follows the tenant.

    Returns:
        False without such a session.
    """
    changed = scope.db.execute(
        update(Session)
        .where(Session.tenant_id == scope.tenant_id, Session.session_id == session_id)
        .values(max_history_tokens=tokens)
    )
    session = find_session(scope, session_id) if changed.rowcount else None
    if session is not None and is_due(session):
        enqueue(scope, WorkKind.SUMMARIZE, session_id)
    return session is not None


def list_lately_used(scope: Scope, *, after: str, most: int) -> list[SessionState]:
    """List the sessions under the tenant's limit with a turn of late, in the order of the ids."""
    rows = scope.db.execute(
        select(*STATE_COLUMNS)
        .where(
            Session.tenant_id == scope.tenant_id,
            Session.session_id > after,
            Session.max_history_tokens.is_(None),
            Session.last_turn_at > func.now() - WOKEN_FOR,
        )
        .order_by(Session.session_id)
        .limit(most)
    )
    return [SessionState(*row) for row in rows]


def remember_refusal(scope: Scope, session: SessionState, *, most_images: int | None) -> None:
    """Store a refusal by a session's provider, so that no later window holds the refused parts.

    Args:
        scope: The transaction and its tenant.
        session: The session as read.
        most_images: Maximum number of images accepted; None for refused reasoning, left out up to the end of
            the log as read.
    """
    values = {"most_images": most_images} if most_images is not None else {"unsigned_seq": session.last_seq}
    scope.db.execute(
        update(Session)
        .where(
            Session.tenant_id == scope.tenant_id,
            Session.session_id == session.session_id,
            Session.generation == session.generation,
        )
        .values(values)
    )


KEPT_RESETS = 16
"""Number of last resets recognized by key."""


def reset_session(scope: Scope, session_id: str, *, key: bytes | None = None) -> SessionState | None:
    """Start the session empty and keep the log: work under way is out of date from now on.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        key: Digest of the caller's name for the reset; None without a name.

    Returns:
        The session's state afterwards; None for a missing session, or a repeated reset.
    """
    mine = (Session.tenant_id == scope.tenant_id, Session.session_id == session_id)
    named = {} if key is None else {"resets": text(f"(array_prepend(:key, resets))[1:{KEPT_RESETS}]")}
    is_new = true() if key is None else text("not (:key = any(resets))")
    row = scope.db.execute(
        update(Session)
        .where(*mine, is_new)
        .values(
            generation=Session.generation + 1,
            start_seq=Session.last_seq,
            **NOTHING_SUMMARIZED,
            **named,
            history_tokens=0,
            cut_seq=0,
            kept_seq=None,
        )
        .returning(*STATE_COLUMNS),
        {} if key is None else {"key": key},
    ).one_or_none()
    return SessionState(*row) if row else None


class ChatPrefixRow(Base):
    """Prefix of a session's last request, stored by earlier code alone; the table goes a release later."""

    __tablename__ = "chat_prefix"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        CheckConstraint("1 <= from_seq and from_seq <= to_seq", name="range_is_ordered"),
        CheckConstraint("generation >= 1 and notes_version >= 0", name="versions_count_from_0"),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    generation: Mapped[int]
    model: Mapped[str]
    notes_version: Mapped[int]
    from_seq: Mapped[int] = mapped_column(BigInteger)
    to_seq: Mapped[int] = mapped_column(BigInteger)
    head: Mapped[str]


def drop_prefix(scope: Scope, session_id: str) -> int:
    """Delete the prefix after a change of its contents. Returns the number of deleted rows."""
    return scope.db.execute(
        delete(ChatPrefixRow).where(
            ChatPrefixRow.tenant_id == scope.tenant_id, ChatPrefixRow.session_id == session_id
        )
    ).rowcount
