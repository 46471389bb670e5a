"""Plans of files, each row stored once, and lists of plans, newest first, page by page."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from sqlalchemy import RowMapping, select, tuple_

from context.tool_plans.features import intent_sha, read_features
from context.tool_plans.outcomes import went_well
from context.tool_plans.prompt import PlanMode
from context.tool_plans.reported import PlanRow
from models.encryption.keys import TextCipher, TextForgottenError
from models.plans.from_turns import insert_plans
from models.plans.outcome import announce_outcome
from models.plans.plan import Plan, PlanSource, PlanStatus, open_plan
from models.scope import Scope


class PlanPlace(NamedTuple):
    """Place of a plan in the list: the time of its request, and the id."""

    created_at: datetime
    plan_id: UUID


@dataclass(frozen=True)
class PlanFilter:
    """Filter of a list of plans; None for all.

    Attributes:
        catalog: Plans from this catalog alone.
        user_id: Plans of this user alone.
    """

    catalog: str | None = None
    user_id: str | None = None


def list_plans(
    scope: Scope, wanted: PlanFilter, *, after: PlanPlace | None, most: int
) -> tuple[list[Plan], PlanPlace | None]:
    """List plans, newest first. Plans sealed with a forgotten key are left out, so a page may be short.

    Args:
        scope: The transaction and its tenant.
        wanted: The filter.
        after: The place after which the page begins; None for the first page.
        most: The most plans of a page, >= 1.

    Returns:
        The page, and the place after which the next page begins; None at the end.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    table = Plan.__table__
    asked = select(table).where(Plan.tenant_id == scope.tenant_id)
    if wanted.catalog is not None:
        asked = asked.where(Plan.catalog == wanted.catalog)
    if wanted.user_id is not None:
        asked = asked.where(Plan.user_id == wanted.user_id)
    if after is not None:
        asked = asked.where(tuple_(Plan.created_at, Plan.plan_id) < tuple_(after.created_at, after.plan_id))
    rows = (
        scope.db.execute(asked.order_by(Plan.created_at.desc(), Plan.plan_id.desc()).limit(most + 1))
        .mappings()
        .all()
    )
    page = rows[:most]
    cells = scope.cells
    found = [plan for row in page if (plan := _opened(cells, row["plan_id"], row)) is not None]
    last = page[-1] if len(rows) > most else None
    return found, PlanPlace(last["created_at"], last["plan_id"]) if last else None


def _opened(cells: TextCipher, plan_id: UUID, row: RowMapping) -> Plan | None:
    try:
        return Plan(**open_plan(cells, plan_id, row))
    except TextForgottenError:
        return None


PAGE_PLANS = 500


@dataclass(frozen=True)
class NewPlan:
    """A row of a file, ready to store.

    Attributes:
        identity: UUID of the plan; or a digest for an id made at storing.
        columns: Columns of the plan.
    """

    identity: UUID | bytes
    columns: dict[str, Any]


def prepare_plan(row: PlanRow, number: int) -> NewPlan:
    """Read the features of a row's intent; call before a transaction: intents may be long.

    Args:
        row: The row.
        number: Number of equal rows before in the file; see `number_equals`.
    """
    features = read_features(row.intent)
    columns = {
        "user_id": row.user_id,
        "intent": row.intent,
        "intent_sha": intent_sha(row.intent),
        "features": json.dumps(features.as_json()),
        "complexity": features.complexity,
        "mode": PlanMode.PLAN.value,
        "catalog": row.catalog,
        "steps": json.dumps(row.steps()),
        "ended": any(row.outcomes),
        "went_well": went_well(row.steps()),
        "completed_at": row.at,
        "made_at": row.at,
    }
    return NewPlan(_identity(row, number), columns)


def _identity(row: PlanRow, number: int) -> UUID | bytes:
    if row.given_id is None:
        return hashlib.sha256(row.content() + str(number).encode()).digest()
    try:
        return UUID(row.given_id)
    except ValueError:
        return hashlib.sha256(row.given_id.encode()).digest()


def import_plans(scope: Scope, plans: Sequence[NewPlan]) -> int:
    """Store plans of a file; plans stored before stay as they are.

    Outcomes take their places in the order of the plans: sort by time, since the newest judge.

    Args:
        scope: The tenant's transaction that has locked nothing.
        plans: Result of `prepare_plan`, a few hundred: learning waits for the transaction.

    Returns:
        Number of new plans.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    announce_outcome(scope)
    cells = scope.cells
    rows = [{**plan.columns, "plan_id": _plan_id(cells, plan.identity)} for plan in plans]
    return insert_plans(scope, rows, source=PlanSource.IMPORTED) if rows else 0


def _plan_id(cells: TextCipher, identity: UUID | bytes) -> UUID:
    """Make the id; of sealed text only with the key, or an id would confirm a guess at the text."""
    if isinstance(identity, UUID):
        return identity
    return uuid5(cells.tenant_id, cells.digest(identity).hex())


def export_plans(scope: Scope, wanted: PlanFilter) -> Iterator[PlanRow]:
    """Read the ready plans with steps as rows, newest first, page by page.

    Args:
        scope: The tenant's transaction with one view of all pages.
        wanted: The filter.
    """
    after: PlanPlace | None = None
    while True:
        page, after = list_plans(scope, wanted, after=after, most=PAGE_PLANS)
        yield from (_row(plan) for plan in page if plan.status == PlanStatus.READY and plan.steps)
        if after is None:
            return


def _row(plan: Plan) -> PlanRow:
    return PlanRow(
        intent=plan.intent,
        tools=tuple(str(step["tool"]) for step in plan.steps),
        outcomes=tuple(step.get("outcome") for step in plan.steps),
        at=plan.outcome_at or plan.created_at,
        catalog=plan.catalog,
        user_id=plan.user_id,
        given_id=str(plan.plan_id),
    )
