"""Lists of plans, newest first, page by page."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import RowMapping, select, tuple_

from models.database import Transaction
from models.encryption.keys import TextCipher, TextForgottenError
from models.plans.plan import Plan, open_plan


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
    db: Transaction, tenant_id: UUID, wanted: PlanFilter, *, after: PlanPlace | None, most: int
) -> tuple[list[Plan], PlanPlace | None]:
    """List plans, newest first. Plans sealed with a forgotten key are left out, so a page may be short.

    Args:
        db: A transaction.
        tenant_id: The tenant.
        wanted: The filter.
        after: The place after which the page begins; None for the first page.
        most: The most plans of a page, >= 1.

    Returns:
        The page, and the place after which the next page begins; None at the end.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    table = Plan.__table__
    asked = select(table).where(Plan.tenant_id == tenant_id)
    if wanted.catalog is not None:
        asked = asked.where(Plan.catalog == wanted.catalog)
    if wanted.user_id is not None:
        asked = asked.where(Plan.user_id == wanted.user_id)
    if after is not None:
        asked = asked.where(tuple_(Plan.created_at, Plan.plan_id) < tuple_(after.created_at, after.plan_id))
    rows = (
        db.execute(asked.order_by(Plan.created_at.desc(), Plan.plan_id.desc()).limit(most + 1))
        .mappings()
        .all()
    )
    page = rows[:most]
    cells = TextCipher(db, tenant_id)
    found = [plan for row in page if (plan := _opened(cells, row["plan_id"], row)) is not None]
    last = page[-1] if len(rows) > most else None
    return found, PlanPlace(last["created_at"], last["plan_id"]) if last else None


def _opened(cells: TextCipher, plan_id: UUID, row: RowMapping) -> Plan | None:
    try:
        return Plan(**open_plan(cells, plan_id, row))
    except TextForgottenError:
        return None
