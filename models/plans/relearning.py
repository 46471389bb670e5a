"""Catalogs with learning from erased plans: the learning must begin again from the remaining plans."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Text, delete, func, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey
from models.database import Transaction

NO_CATALOG = ""
"""Name for the plans without a catalog."""


class PlanErasure(Base):
    """Number of a catalog's plans erased since the catalog's learning last began anew."""

    __tablename__ = "plan_erasure"
    __table_args__ = (CheckConstraint("plans >= 1", name="plans_count_from_1"),)

    tenant_id: Mapped[TenantKey]
    catalog: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    plans: Mapped[int] = mapped_column(BigInteger)
    erased_at: Mapped[datetime]


def note_erased_plans(db: Transaction, tenant_id: UUID, plans: Mapping[str | None, int]) -> None:
    """Record erased plans, in the transaction of the erasure.

    Args:
        db: A transaction.
        tenant_id: The tenant of the plans.
        plans: Number of erased plans by catalog; None for plans without a catalog.
    """
    counted = {catalog or NO_CATALOG: count for catalog, count in plans.items() if count > 0}
    if not counted:
        return
    row = upsert(PlanErasure).values(
        [
            {"tenant_id": tenant_id, "catalog": catalog, "plans": counted[catalog], "erased_at": func.now()}
            for catalog in sorted(counted)
        ]
    )
    db.execute(
        row.on_conflict_do_update(
            index_elements=[PlanErasure.tenant_id, PlanErasure.catalog],
            set_={"plans": PlanErasure.plans + row.excluded.plans, "erased_at": func.now()},
        )
    )


def find_erased_plans(db: Transaction, tenant_id: UUID, catalog: str | None) -> int:
    """Find the number of a catalog's erased plans that learning may still hold; 0 without an erasure.

    Call before reading the plans: an erasure meanwhile raises the number, and `settle_erased_plans` then
    leaves the row for the next night.
    """
    found = db.execute(
        select(PlanErasure.plans).where(
            PlanErasure.tenant_id == tenant_id, PlanErasure.catalog == (catalog or NO_CATALOG)
        )
    ).scalar()
    return int(found or 0)


def catalogs_with_erased_plans(db: Transaction, tenant_id: UUID) -> list[str | None]:
    """Find the catalogs with learning to begin anew; None for the plans without a catalog."""
    rows = db.execute(
        select(PlanErasure.catalog).where(PlanErasure.tenant_id == tenant_id).order_by(PlanErasure.catalog)
    )
    return [catalog or None for catalog in rows.scalars()]


def settle_erased_plans(db: Transaction, tenant_id: UUID, catalog: str | None, *, seen: int) -> bool:
    """Record that learning holds no erased plans any more, in the transaction that stores the new learning.

    Args:
        db: A transaction.
        tenant_id: The tenant of the plans.
        catalog: The catalog; None for plans without a catalog.
        seen: Number from `find_erased_plans` before the plans were read.

    Returns:
        False when more plans were erased meanwhile: the row stays.
    """
    done = db.execute(
        delete(PlanErasure).where(
            PlanErasure.tenant_id == tenant_id,
            PlanErasure.catalog == (catalog or NO_CATALOG),
            PlanErasure.plans == seen,
        )
    )
    return done.rowcount == 1
