"""Which keys of tenants' texts were forgotten: what they sealed is gone, also where rows are left of it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey
from models.session import Transaction


class ForgottenTextKey(Base):
    """That a tenant's key was forgotten, by when it was made; never the key itself."""

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
    """Delete a tenant's key and remember that it was forgotten. False: it has none.

    It waits for the transactions that seal with a key, of any tenant, and whoever seals next waits for it.
    Readers do not.

    Raises:
        OperationalError: One of them took longer than the lock timeout; nothing was changed.
    """
    db.execute(text("lock table text_key in exclusive mode"))
    return db.execute(_FORGET, {"tenant_id": tenant_id}).rowcount == 1


def find_uncleared(db: Transaction, tenant_id: UUID) -> Sequence[datetime]:
    """When the forgotten keys were made of which sealed text may still be there."""
    return db.execute(_UNCLEARED, {"tenant_id": tenant_id}).scalars().all()


def note_cleared(db: Transaction, tenant_id: UUID, made_at: Sequence[datetime]) -> None:
    """Remember that nothing is left that these keys sealed."""
    db.execute(_CLEARED, {"tenant_id": tenant_id, "made_at": list(made_at)})
