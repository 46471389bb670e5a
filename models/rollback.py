"""Rollback: an older summary put in force on purpose stays in force until the next turn."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import aliased

from models.conversation import Session
from models.session import Transaction
from models.summary import Summary, SummaryState


def is_rolled_back(db: Transaction, tenant_id: UUID, session_id: str) -> bool:
    """Check whether an earlier version was put in force again after the last turn.

    Until the next turn, a new summary of the same messages would only undo the rollback.
    """
    active, newer = aliased(Summary), aliased(Summary)
    found = (
        select(newer.version)
        .select_from(Session)
        .join(active, (active.tenant_id == Session.tenant_id) & (active.session_id == Session.session_id))
        .join(newer, (newer.tenant_id == Session.tenant_id) & (newer.session_id == Session.session_id))
        .where(
            Session.tenant_id == tenant_id,
            Session.session_id == session_id,
            active.state == SummaryState.ACTIVE,
            active.generation == Session.generation,
            active.activated_at > Session.last_turn_at,
            newer.generation == Session.generation,
            newer.version > active.version,
            newer.state == SummaryState.SUPERSEDED,
            newer.activated_at < active.activated_at,
        )
        .limit(1)
    )
    return db.execute(found).one_or_none() is not None
