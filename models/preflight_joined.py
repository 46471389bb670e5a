"""Progress of joining preflight decisions to the tool calls of the turns."""

from uuid import UUID

from sqlalchemy import text

from models.session import Transaction

_JOINED_THROUGH = text(
    "select cast(extract(epoch from max(joined_at)) * 1000000 as bigint) from preflight_decision"
    " where tenant_id = :tenant_id"
)


def joined_through(db: Transaction, tenant_id: UUID) -> int:
    """Find the time of the last join of a decision, by any process.

    Returns:
        Microseconds since 1970; 0 before the first join.
    """
    return db.execute(_JOINED_THROUGH, {"tenant_id": tenant_id}).scalar() or 0
