"""How far decisions of preflight are joined to what their turns called."""

from uuid import UUID

from sqlalchemy import text

from models.session import Transaction

_JOINED_THROUGH = text(
    "select cast(extract(epoch from max(joined_at)) * 1000000 as bigint) from preflight_decision"
    " where tenant_id = :tenant_id"
)


def joined_through(db: Transaction, tenant_id: UUID) -> int:
    """When a decision was last joined, by whomever.

    Returns:
        Microseconds since 1970; 0 where none was.
    """
    return db.execute(_JOINED_THROUGH, {"tenant_id": tenant_id}).scalar() or 0
