"""The limit of history tokens in any request, of a tenant or a session; a lower one wakes sessions."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select, update

from context.tokens.budget import HistoryLimit
from models.conversations.session import STATE_COLUMNS, Session, find_session
from models.conversations.session_state import SessionState, history_limit, is_due
from models.database import Transaction
from models.due_work.queue import WorkKind, enqueue
from models.tenants.tenant import Tenant

LEAST_HISTORY_TOKENS = 1_000
"""A lower limit holds no summary and hardly a turn, and every turn would be summarized."""

HISTORY_LIMIT = "history-limit"
"""Key of the work that wakes a tenant's sessions after a lower limit."""

WOKEN_FOR = timedelta(days=30)
"""Age of the newest turn up to which a tenant's limit wakes a session; an older session may never go on."""


def tenant_history_limit(db: Transaction, tenant_id: UUID) -> HistoryLimit | None:
    """Find the limit for a tenant's sessions without a limit of the session; None without a limit."""
    found = select(Tenant.max_history_tokens).where(Tenant.tenant_id == tenant_id)
    return history_limit(None, db.execute(found).scalar())


def set_tenant_history_limit(db: Transaction, tenant_id: UUID, tokens: int | None) -> None:
    """Set the limit of a tenant, in tokens of the called model; None removes the limit.

    A lower limit queues the work that finds the sessions whose summaries are due now.
    """
    row = (
        select(Tenant.max_history_tokens).where(Tenant.tenant_id == tenant_id).with_for_update(key_share=True)
    )
    before = db.execute(row).scalar()
    db.execute(update(Tenant).where(Tenant.tenant_id == tenant_id).values(max_history_tokens=tokens))
    if tokens is not None and (before is None or tokens < before):
        enqueue(db, tenant_id, WorkKind.WAKE, HISTORY_LIMIT)


def set_session_history_limit(db: Transaction, tenant_id: UUID, session_id: str, tokens: int | None) -> bool:
    """Set a session's own limit, and queue its summary where due; None follows the tenant.

    Returns:
        False without such a session.
    """
    changed = db.execute(
        update(Session)
        .where(Session.tenant_id == tenant_id, Session.session_id == session_id)
        .values(max_history_tokens=tokens)
    )
    session = find_session(db, tenant_id, session_id) if changed.rowcount else None
    if session is not None and is_due(session):
        enqueue(db, tenant_id, WorkKind.SUMMARIZE, session_id)
    return session is not None


def list_lately_used(db: Transaction, tenant_id: UUID, *, after: str, most: int) -> list[SessionState]:
    """List the sessions under the tenant's limit with a turn of late, in the order of the ids."""
    rows = db.execute(
        select(*STATE_COLUMNS)
        .where(
            Session.tenant_id == tenant_id,
            Session.session_id > after,
            Session.max_history_tokens.is_(None),
            Session.last_turn_at > func.now() - WOKEN_FOR,
        )
        .order_by(Session.session_id)
        .limit(most)
    )
    return [SessionState(*row) for row in rows]
