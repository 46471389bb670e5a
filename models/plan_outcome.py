"""What became of planned steps: joined once, and read in the order in which it was joined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Double, cast, func, select, text, update

from context.plans.outcomes import Merged, StepOutcome, merge_outcomes
from models.plan import Plan, PlanStatus, outcome_numbers
from models.plan_text import open_plan, seal_plan
from models.session import Transaction
from models.text_keys import Cells


@dataclass(frozen=True)
class Joined:
    """What became of a report of outcomes.

    Attributes:
        merged: The steps, and what was wrong with the report; None while the plan has no steps yet.
        status: Where the plan stands.
    """

    merged: Merged | None
    status: PlanStatus


def join_outcomes(
    db: Transaction, tenant_id: UUID, plan_id: UUID, outcomes: Sequence[StepOutcome]
) -> Joined | None:
    """Join what happened to what was planned: all that is reported, or nothing.

    Safe to call twice: what is known already is not joined again, and takes no new place in the order.

    Returns:
        What came of it; None where the tenant has no such plan.
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
    cells = Cells(db, tenant_id)
    merged = merge_outcomes(open_plan(cells, plan_id, {"steps": row.steps})["steps"], outcomes)
    if merged.changed:
        db.execute(
            update(Plan)
            .where(Plan.tenant_id == tenant_id, Plan.plan_id == plan_id)
            .values(
                **seal_plan(cells, plan_id, {"steps": list(merged.steps)}),
                outcome_at=func.now(),
                outcome_seq=outcome_numbers.next_value(),
            )
        )
    return Joined(merged, PlanStatus.READY)


def announce_outcome(db: Transaction, tenant_id: UUID) -> None:
    """Announce that a number may be taken, before any row is locked; see `settled_through`.

    Those who take one do not wait for each other.
    """
    db.execute(text("select pg_advisory_xact_lock_shared(:key)"), {"key": _lock_key(tenant_id)})


def _lock_key(tenant_id: UUID) -> int:
    return int.from_bytes(tenant_id.bytes[:8], signed=True) ^ 0x504C414E


def settled_through(db: Transaction, tenant_id: UUID) -> int:
    """The number up to which no outcome of a tenant can appear any more.

    A number is taken before its transaction commits, so that a lower one may appear after a higher one.
    Whoever reads by number waits here, for an instant, until those under way have ended. Call it in a
    transaction of its own.

    Returns:
        0 where no outcome was ever joined.
    """
    db.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _lock_key(tenant_id)})
    return int(
        db.execute(
            text("select case when is_called then last_value else 0 end from plan_outcome_seq")
        ).scalar_one()
    )


@dataclass(frozen=True)
class TaughtPlan:
    """A plan with the outcome of at least one step, for those who learn from it.

    Attributes:
        outcome_seq: Its place in the order: the watermark. A plan whose further steps end comes again, under
            a new one.
        plan_id: The plan.
        intent: What the user wanted.
        features: What was read of the intent.
        steps: Tool, outcome (`ok`, `error` or None where it is not known) and error of each step, in order.
        user_id: Whose it is.
        catalog_digest: The version of the catalog that it was made from; None where nobody said.
        at: When the outcome was joined, in seconds since 1970.
    """

    outcome_seq: int
    plan_id: UUID
    intent: str
    features: Mapping[str, Any]
    steps: Sequence[Mapping[str, Any]]
    user_id: str | None
    catalog_digest: str | None
    at: float


def read_outcomes(
    db: Transaction, tenant_id: UUID, catalog: str | None, *, after_seq: int, through_seq: int, most: int
) -> list[TaughtPlan]:
    """Read a page of plans with outcomes, in the order in which those were joined.

    Args:
        db: A transaction, or a plain read.
        tenant_id: Whose plans.
        catalog: The catalog that they were made from; None for plans of turns that named none.
        after_seq: The watermark: only later places are read.
        through_seq: The last place, from `settled_through`.
        most: The most plans, >= 1.
    """
    of_catalog = Plan.catalog.is_(None) if catalog is None else Plan.catalog == catalog
    rows = db.execute(
        select(
            Plan.outcome_seq,
            Plan.plan_id,
            Plan.intent,
            Plan.features,
            Plan.steps,
            Plan.user_id,
            Plan.catalog_digest,
            cast(func.extract("epoch", Plan.outcome_at), Double).label("at"),
        )
        .where(
            Plan.tenant_id == tenant_id,
            of_catalog,
            Plan.outcome_seq > after_seq,
            Plan.outcome_seq <= through_seq,
        )
        .order_by(Plan.outcome_seq)
        .limit(most)
    )
    cells = Cells(db, tenant_id)
    return [TaughtPlan(**open_plan(cells, row["plan_id"], row)) for row in rows.mappings()]


def catalogs_with_outcomes(db: Transaction, tenant_id: UUID, *, after_seq: int) -> list[str | None]:
    """The catalogs for which outcomes were joined after a place in the order."""
    rows = db.execute(
        select(Plan.catalog).where(Plan.tenant_id == tenant_id, Plan.outcome_seq > after_seq).distinct()
    )
    return [row.catalog for row in rows]
