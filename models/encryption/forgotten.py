"""Forgotten keys of tenants' texts: text sealed with a forgotten key is gone, even with rows left."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction


class ForgottenTextKey(Base):
    """A forgotten key of a tenant, by the time of making; never the key itself."""

    __tablename__ = "text_key_forgotten"
    __table_args__ = (CheckConstraint("cleared_at >= forgotten_at", name="cleared_after_forgotten"),)

    tenant_id: Mapped[TenantKey]
    made_at: Mapped[datetime] = mapped_column(primary_key=True)
    forgotten_at: Mapped[CreatedAt]
    cleared_at: Mapped[datetime | None]


_FORGET = text(
    """
    with gone as (delete from text_key where tenant_id = :tenant_id returning tenant_id, created_at)
    insert into text_key_forgotten (tenant_id, made_at) select tenant_id, created_at from gone
    """
)
_UNCLEARED = text(
    "select made_at from text_key_forgotten where tenant_id = :tenant_id and cleared_at is null"
)
_CLEARED = text(
    """
    update text_key_forgotten set cleared_at = clock_timestamp()
    where tenant_id = :tenant_id and made_at = any(:made_at)
    """
)


def delete_key(db: Transaction, tenant_id: UUID) -> bool:
    """Delete a tenant's key and record the deletion. Returns False without a key.

    The deletion waits for the sealing transactions of any tenant, and later sealing waits for the deletion.
    Readers do not wait.

    Raises:
        OperationalError: A sealing transaction took longer than the lock timeout; nothing was changed.
    """
    db.execute(text("lock table text_key in exclusive mode"))
    return db.execute(_FORGET, {"tenant_id": tenant_id}).rowcount == 1


def find_uncleared(db: Transaction, tenant_id: UUID) -> Sequence[datetime]:
    """Find the making times of forgotten keys with possibly remaining sealed text."""
    return db.execute(_UNCLEARED, {"tenant_id": tenant_id}).scalars().all()


def note_cleared(db: Transaction, tenant_id: UUID, made_at: Sequence[datetime]) -> None:
    """Record that no text sealed with the keys is left."""
    db.execute(_CLEARED, {"tenant_id": tenant_id, "made_at": list(made_at)})
