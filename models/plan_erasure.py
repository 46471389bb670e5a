"""Which learning holds plans that are gone: it must begin anew, from the plans that are left."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Text, delete, func, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey
from models.session import Transaction

NO_CATALOG = ""
"""Stands for the plans that name no catalog."""


class PlanErasure(Base):
    """That plans of a catalog were erased since its learning last began anew."""

    __tablename__ = "plan_erasure"
    __table_args__ = (CheckConstraint("plans >= 1", name="plans_count_from_1"),)

    tenant_id: Mapped[TenantKey]
    catalog: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    plans: Mapped[int] = mapped_column(BigInteger)
    erased_at: Mapped[datetime]


def note_erased_plans(db: Transaction, tenant_id: UUID, plans: Mapping[str | None, int]) -> None:
    """Say that plans are gone, in the transaction that erases them.

    Args:
        db: A transaction.
        tenant_id: Whose plans.
        plans: How many, by catalog; None for plans that name none.
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
    """How many plans of a catalog were erased that its learning may still hold; 0 where none were.

    Read it before the plans are read: what is erased meanwhile raises the number, and `settle_erased_plans`
    then leaves the row for the next night.
    """
    found = db.execute(
        select(PlanErasure.plans).where(
            PlanErasure.tenant_id == tenant_id, PlanErasure.catalog == (catalog or NO_CATALOG)
        )
    ).scalar()
    return int(found or 0)


def catalogs_with_erased_plans(db: Transaction, tenant_id: UUID) -> list[str | None]:
    """The catalogs whose learning must begin anew; None for the plans that name none."""
    rows = db.execute(
        select(PlanErasure.catalog).where(PlanErasure.tenant_id == tenant_id).order_by(PlanErasure.catalog)
    )
    return [catalog or None for catalog in rows.scalars()]


def settle_erased_plans(db: Transaction, tenant_id: UUID, catalog: str | None, *, seen: int) -> bool:
    """Say that the learning holds nothing of them any more, in the transaction that stores what is new.

    Args:
        db: A transaction.
        tenant_id: Whose plans.
        catalog: Which catalog; None for plans that name none.
        seen: What `find_erased_plans` said before the plans were read.

    Returns:
        False where more were erased meanwhile: the row stays.
    """
    done = db.execute(
        delete(PlanErasure).where(
            PlanErasure.tenant_id == tenant_id,
            PlanErasure.catalog == (catalog or NO_CATALOG),
            PlanErasure.plans == seen,
        )
    )
    return done.rowcount == 1
