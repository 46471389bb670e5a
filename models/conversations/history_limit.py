"""The limit of history tokens in any request, set by a tenant or for a session."""

from uuid import UUID

from sqlalchemy import select, update

from context.tokens.budget import HistoryLimit
from models.conversations.session import Session
from models.conversations.session_state import history_limit
from models.database import Transaction
from models.tenants.tenant import Tenant

LEAST_HISTORY_TOKENS = 1_000
"""A lower limit holds no summary and hardly a turn, and every turn would be summarized."""


def tenant_history_limit(db: Transaction, tenant_id: UUID) -> HistoryLimit | None:
    """Find the limit for a tenant's sessions without a limit of the session; None without a limit."""
    found = select(Tenant.max_history_tokens).where(Tenant.tenant_id == tenant_id)
    return history_limit(None, db.execute(found).scalar())


def set_tenant_history_limit(db: Transaction, tenant_id: UUID, tokens: int | None) -> None:
    """Set the limit of a tenant, in tokens of the called model; None removes the limit."""
    db.execute(update(Tenant).where(Tenant.tenant_id == tenant_id).values(max_history_tokens=tokens))


def set_session_history_limit(db: Transaction, tenant_id: UUID, session_id: str, tokens: int | None) -> bool:
    """Set a session's own limit; None follows the tenant. Returns False without such a session."""
    changed = db.execute(
        update(Session)
        .where(Session.tenant_id == tenant_id, Session.session_id == session_id)
        .values(max_history_tokens=tokens)
    )
    return changed.rowcount == 1
