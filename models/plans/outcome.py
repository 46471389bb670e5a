"""Outcomes of planned steps: joined once, and read in the order of joining."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Double, cast, func, select, text, update

from context.tool_plans.outcomes import Merged, StepOutcome, merge_outcomes
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


@dataclass(frozen=True)
class TaughtPlan:
    """A plan with the outcome of at least one step, for learning.

    Attributes:
        outcome_seq: Place in the order: the watermark. With further outcomes, the plan comes again under a
            new place.
        plan_id: The plan.
        intent: The user's intent.
        features: Features of the intent.
        steps: Tool, outcome (`ok`, `error` or None when unknown) and error of each step, in order.
        user_id: The user.
        catalog_digest: Version of the plan's catalog; None when unknown.
        at: Time of the outcome, in seconds since 1970.
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
    """Read a page of plans with outcomes, in the order of joining.

    Args:
        db: A transaction, or a plain read.
        tenant_id: The tenant of the plans.
        catalog: The catalog of the plans; None for plans of turns without a catalog.
        after_seq: The watermark: only later places are read.
        through_seq: The last place, from `settled_through`.
        most: Maximum number of plans, >= 1.
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
    cells = TextCipher(db, tenant_id)
    return [TaughtPlan(**open_plan(cells, row["plan_id"], row)) for row in rows.mappings()]


def catalogs_with_outcomes(db: Transaction, tenant_id: UUID, *, after_seq: int) -> list[str | None]:
    """Find the catalogs with outcomes joined after a place in the order."""
    rows = db.execute(
        select(Plan.catalog).where(Plan.tenant_id == tenant_id, Plan.outcome_seq > after_seq).distinct()
    )
    return [row.catalog for row in rows]
