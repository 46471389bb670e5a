"""Outcomes of planned steps: joined once, and read in the order of joining."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select, text, update

from context.tool_plans.outcomes import Merged, StepOutcome, merge_outcomes, went_well
from models.database import Transaction
from models.encryption.keys import TextCipher
from models.plans.plan import Plan, PlanStatus, open_plan, outcome_numbers, seal_plan


@dataclass(frozen=True)
class Joined:
    """Result of a report of outcomes.

    Attributes:
        merged: The steps, and the errors of the report; None while the plan has no steps yet.
        status: Status of the plan.
    """

    merged: Merged | None
    status: PlanStatus


def join_outcomes(
    db: Transaction, tenant_id: UUID, plan_id: UUID, outcomes: Sequence[StepOutcome]
) -> Joined | None:
    """Join outcomes to the steps of a plan: the whole report or nothing.

    Safe to call twice: a known outcome is not joined again, and takes no new place in the order.

    Returns:
        The result; None when the tenant has no such plan.
    """
    # First of all: whoever holds the plan's row must not wait behind one who waits for those who join.
    announce_outcome(db, tenant_id)
    row = db.execute(
        select(Plan.status, Plan.steps)
        .where(Plan.tenant_id == tenant_id, Plan.plan_id == plan_id)
        .with_for_update()
    ).one_or_none()
    if row is None:
        return None
    if row.status != PlanStatus.READY:
        return Joined(None, PlanStatus(row.status))
    cells = TextCipher(db, tenant_id)
    merged = merge_outcomes(open_plan(cells, plan_id, {"steps": row.steps})["steps"], outcomes)
    if merged.changed:
        db.execute(
            update(Plan)
            .where(Plan.tenant_id == tenant_id, Plan.plan_id == plan_id)
            .values(
                **seal_plan(cells, plan_id, {"steps": list(merged.steps)}),
                outcome_at=func.now(),
                outcome_seq=outcome_numbers.next_value(),
                went_well=went_well(merged.steps),
            )
        )
    return Joined(merged, PlanStatus.READY)


def announce_outcome(db: Transaction, tenant_id: UUID) -> None:
    """Announce a number about to be taken, before any row is locked; see `settled_through`.

    Announcers do not wait for each other.
    """
    db.execute(text("select pg_advisory_xact_lock_shared(:key)"), {"key": _lock_key(tenant_id)})


def _lock_key(tenant_id: UUID) -> int:
    return int.from_bytes(tenant_id.bytes[:8], signed=True) ^ 0x504C414E


def settled_through(db: Transaction, tenant_id: UUID) -> int:
    """Find the number up to which no outcome of a tenant can appear any more.

    A number is taken before the commit of its transaction, so a lower number may appear after a higher
    number. A reader by number waits here, for an instant, until the open transactions have ended. Call in a
    separate
    transaction.

    Returns:
        The number; 0 before the first outcome.
    """
    db.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _lock_key(tenant_id)})
    return int(
        db.execute(
            text("select case when is_called then last_value else 0 end from plan_outcome_seq")
        ).scalar_one()
    )
