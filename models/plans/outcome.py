"""Outcomes of planned steps, and catalogs whose learning begins again without erased plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Text, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from context.tool_plans.outcomes import Merged, StepOutcome, merge_outcomes, went_well
from models.base import Base, TenantKey
from models.plans.plan import Plan, PlanStatus, open_plan, outcome_numbers, seal_plan
from models.scope import Scope


@dataclass(frozen=True)
class Joined:
    """Result of a report of outcomes.

    Attributes:
        merged: The steps, and the errors of the report; None while the plan has no steps yet.
        status: Status of the plan.
    """

    merged: Merged | None
    status: PlanStatus


def join_outcomes(scope: Scope, plan_id: UUID, outcomes: Sequence[StepOutcome]) -> Joined | None:
    """Join outcomes to the steps of a plan: the whole report or nothing.

    Safe to call twice: a known outcome is not joined again, and takes no new place in the order.

    Returns:
        The result; None when the tenant has no such plan.
    """
    # First of all: whoever holds the plan's row must not wait behind one who waits for those who join.
    announce_outcome(scope)
    row = scope.db.execute(
        select(Plan.status, Plan.steps)
        .where(Plan.tenant_id == scope.tenant_id, Plan.plan_id == plan_id)
        .with_for_update()
    ).one_or_none()
    if row is None:
        return None
    if row.status != PlanStatus.READY:
        return Joined(None, PlanStatus(row.status))
    merged = merge_outcomes(open_plan(scope.cells, plan_id, {"steps": row.steps})["steps"], outcomes)
    keep_outcomes(scope, plan_id, merged)
    return Joined(merged, PlanStatus.READY)


def keep_outcomes(
    scope: Scope,
    plan_id: UUID,
    merged: Merged,
    *,
    turn_id: str | None = None,
    at: datetime | None = None,
) -> None:
    """Store the steps of a locked plan, if any outcome is new.

    Args:
        scope: The tenant's transaction, which has announced outcomes.
        plan_id: The plan.
        merged: The steps.
        turn_id: The turn that brought the outcomes: a change of the turn erases the plan.
        at: Time of the outcomes, at most now; now without a value.
    """
    if not merged.changed:
        return
    told_by = {"outcome_turns": func.array_append(Plan.outcome_turns, turn_id)} if turn_id else {}
    scope.db.execute(
        update(Plan)
        .where(Plan.tenant_id == scope.tenant_id, Plan.plan_id == plan_id)
        .values(
            **seal_plan(scope.cells, plan_id, {"steps": list(merged.steps)}),
            **told_by,
            outcome_at=func.least(func.now(), at) if at else func.now(),
            outcome_seq=outcome_numbers.next_value(),
            went_well=went_well(merged.steps),
        )
    )


def lock_plans(scope: Scope, plan_ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """Lock plans that are ready, and read session and steps of each."""
    rows = scope.db.execute(
        select(Plan.plan_id, Plan.session_id, Plan.steps)
        .where(Plan.tenant_id == scope.tenant_id, Plan.plan_id.in_(plan_ids), Plan.status == PlanStatus.READY)
        .order_by(Plan.plan_id)
        .with_for_update()
    )
    return {row["plan_id"]: open_plan(scope.cells, row["plan_id"], row) for row in rows.mappings()}


def announce_outcome(scope: Scope) -> None:
    """Announce a number about to be taken, before any row is locked; see `settled_through`.

    Announcers do not wait for each other.
    """
    scope.db.execute(text("select pg_advisory_xact_lock_shared(:key)"), {"key": _lock_key(scope.tenant_id)})


def _lock_key(tenant_id: UUID) -> int:
    return int.from_bytes(tenant_id.bytes[:8], signed=True) ^ 0x504C414E


def settled_through(scope: Scope) -> int:
    """Find the number up to which no outcome of a tenant can appear any more.

    A number is taken before the commit of its transaction, so a lower number may appear after a higher
    number. A reader by number waits here, for an instant, until the open transactions have ended. Call in a
    separate
    transaction.

    Returns:
        The number; 0 before the first outcome.
    """
    scope.db.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _lock_key(scope.tenant_id)})
    return int(
        scope.db.execute(
            text("select case when is_called then last_value else 0 end from plan_outcome_seq")
        ).scalar_one()
    )


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


def note_erased_plans(scope: Scope, plans: Mapping[str | None, int]) -> None:
    """Record erased plans, in the transaction of the erasure.

    Args:
        scope: The transaction and its tenant.
        plans: Number of erased plans by catalog; None for plans without a catalog.
    """
    counted = {catalog or NO_CATALOG: count for catalog, count in plans.items() if count > 0}
    if not counted:
        return
    row = upsert(PlanErasure).values(
        [
            {
                "tenant_id": scope.tenant_id,
                "catalog": catalog,
                "plans": counted[catalog],
                "erased_at": func.now(),
            }
            for catalog in sorted(counted)
        ]
    )
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[PlanErasure.tenant_id, PlanErasure.catalog],
            set_={"plans": PlanErasure.plans + row.excluded.plans, "erased_at": func.now()},
        )
    )


def find_erased_plans(scope: Scope, catalog: str | None) -> int:
    """Find the number of a catalog's erased plans that learning may still hold; 0 without an erasure.

    Call before reading the plans: an erasure meanwhile raises the number, and `settle_erased_plans` then
    leaves the row for the next night.
    """
    found = scope.db.execute(
        select(PlanErasure.plans).where(
            PlanErasure.tenant_id == scope.tenant_id, PlanErasure.catalog == (catalog or NO_CATALOG)
        )
    ).scalar()
    return int(found or 0)


def catalogs_with_erased_plans(scope: Scope) -> list[str | None]:
    """Find the catalogs with learning to begin anew; None for the plans without a catalog."""
    rows = scope.db.execute(
        select(PlanErasure.catalog)
        .where(PlanErasure.tenant_id == scope.tenant_id)
        .order_by(PlanErasure.catalog)
    )
    return [catalog or None for catalog in rows.scalars()]


def settle_erased_plans(scope: Scope, catalog: str | None, *, seen: int) -> bool:
    """Record that learning holds no erased plans any more, in the transaction that stores the new learning.

    Args:
        scope: The transaction and its tenant.
        catalog: The catalog; None for plans without a catalog.
        seen: Number from `find_erased_plans` before the plans were read.

    Returns:
        False when more plans were erased meanwhile: the row stays.
    """
    done = scope.db.execute(
        delete(PlanErasure).where(
            PlanErasure.tenant_id == scope.tenant_id,
            PlanErasure.catalog == (catalog or NO_CATALOG),
            PlanErasure.plans == seen,
        )
    )
    return done.rowcount == 1
