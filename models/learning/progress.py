"""Progress and counts of learning: a row for each tenant and catalog."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import BigInteger, CheckConstraint, Date, LargeBinary, Text, func, select, text, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey
from models.database import Transaction
from models.encryption.cipher import MARK, is_sealed
from models.encryption.keys import TextCipher
from models.learning.settings import LearningSettings
from models.plans.plan import Plan, open_plan
from models.scope import Scope
from models.tenants.tenant import Tenant


class CanaryShare(NamedTuple):
    """Share of sessions to which a night's better set is served first, and its source."""

    share: float
    source: str


def find_canary_share(scope: Scope, settings: LearningSettings) -> CanaryShare:
    """Find the share of a tenant: its own (`tenant`), or the share of the settings (`installation`)."""
    own = scope.db.execute(select(Tenant.canary_share).where(Tenant.tenant_id == scope.tenant_id)).scalar()
    if own is None:
        return CanaryShare(settings.learn_canary_share, "installation")
    return CanaryShare(own, "tenant")


def set_canary_share(scope: Scope, share: float | None) -> None:
    """Set the share of a tenant for canaries of later nights; None follows the settings.

    Args:
        scope: The transaction and its tenant.
        share: In [0, 1); 0 puts a better set in force at once.

    Raises:
        ValueError: The share is out of bounds.
    """
    if share is not None and not 0 <= share < 1:
        raise ValueError("a share of canaries is at least 0 and below 1")
    scope.db.execute(update(Tenant).where(Tenant.tenant_id == scope.tenant_id).values(canary_share=share))


class LearningState(Base):
    """Counts over a catalog's plans; an empty name for plans without a catalog."""

    __tablename__ = "learning_state"
    __table_args__ = (CheckConstraint("watermark >= 0", name="watermark_counts_from_0"),)

    tenant_id: Mapped[TenantKey]
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    watermark: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[bytes] = mapped_column(LargeBinary)
    unfinished: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    updated_at: Mapped[CreatedAt]


class LearningNight(Base):
    """A night with a learning request for all tenants."""

    __tablename__ = "learning_night"

    night: Mapped[date] = mapped_column(Date, primary_key=True)
    asked_at: Mapped[CreatedAt]


@dataclass(frozen=True)
class LearningCounts:
    """Counts so far.

    Attributes:
        watermark: Last counted place in the order of outcomes; 0 before the first.
        state: The counts; None before the first.
        unfinished: Plans to read again, with the steps counted already.
    """

    watermark: int = 0
    state: bytes | None = None
    unfinished: Mapping[str, Any] = field(default_factory=dict)


def find_counted(scope: Scope, name: str) -> LearningCounts:
    """Find the counts so far of a catalog's plans."""
    row = scope.db.execute(
        select(LearningState.watermark, LearningState.state, LearningState.unfinished).where(
            LearningState.tenant_id == scope.tenant_id, LearningState.name == name
        )
    ).one_or_none()
    if row is None:
        return LearningCounts()
    state = scope.cells.open_bytes("learning_state.state", row.state, name)
    return LearningCounts(row.watermark, state, row.unfinished)


def keep_counted(scope: Scope, name: str, *, seen: int, counted: LearningCounts) -> bool:
    """Store new counts, by compare-and-set on the watermark.

    Args:
        scope: The transaction and its tenant.
        name: The catalog.
        seen: The watermark at the time of reading; 0 before the first.
        counted: The new counts.

    Returns:
        True when stored; False: another process counted meanwhile, or the counts were started afresh.
    """
    values = {
        "watermark": counted.watermark,
        "state": scope.cells.seal_bytes("learning_state.state", counted.state or b"", name),
        "unfinished": dict(counted.unfinished),
        "updated_at": func.now(),
    }
    row = insert(LearningState).values(tenant_id=scope.tenant_id, name=name, **values)
    kept = scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[LearningState.tenant_id, LearningState.name],
            set_=values,
            where=LearningState.watermark == seen,
        ).returning(LearningState.watermark)
    )
    return kept.one_or_none() is not None


def count_outcomes(scope: Scope, catalog: str | None, *, after_seq: int, through_seq: int) -> int:
    """Count the plans with outcomes between two places in the order."""
    of_catalog = Plan.catalog.is_(None) if catalog is None else Plan.catalog == catalog
    return int(
        scope.db.execute(
            select(func.count()).where(
                Plan.tenant_id == scope.tenant_id,
                of_catalog,
                Plan.outcome_seq > after_seq,
                Plan.outcome_seq <= through_seq,
            )
        ).scalar_one()
    )


class TeachingPlan(NamedTuple):
    """A plan with the outcome of at least one step, reduced to these fields for reading a million plans.

    Attributes:
        outcome_seq: Place in the order of joined outcomes.
        plan_id: The plan.
        intent: The user's intent.
        category: The intent's category; empty when unknown.
        steps: JSON objects with order, tool and outcome.
        at_s: Time of the outcome, in seconds since 1970.
    """

    outcome_seq: int
    plan_id: str
    intent: str
    category: str
    steps: list[dict[str, Any]]
    at_s: float


_PAGE = """
    select outcome_seq, plan_id::text, intent,
        case jsonb_typeof(features) when 'string' then features #>> '{{}}'
            else coalesce(features ->> 'category', '') end,
        steps::text, extract(epoch from outcome_at)::float8
    from plan_history
    where tenant_id = :tenant_id and {catalog} and outcome_seq > :after_seq and outcome_seq <= :through_seq
    order by outcome_seq limit :most
"""
_PAGE_OF_CATALOG = text(_PAGE.format(catalog="catalog = :catalog"))
_PAGE_OF_NONE = text(_PAGE.format(catalog="catalog is null"))


def read_page(
    scope: Scope, catalog: str | None, *, after_seq: int, through_seq: int, most: int
) -> list[TeachingPlan]:
    """Read a page of plans with outcomes, in the order of the outcomes.

    Args:
        scope: The transaction and its tenant.
        catalog: The catalog of the plans; None for plans without a catalog.
        after_seq: Only later places are read.
        through_seq: The last settled place.
        most: Maximum number of plans, >= 1.
    """
    values = {
        "tenant_id": scope.tenant_id,
        "catalog": catalog,
        "after_seq": after_seq,
        "through_seq": through_seq,
        "most": most,
    }
    if catalog is None:
        del values["catalog"]
    rows = scope.db.execute(_PAGE_OF_NONE if catalog is None else _PAGE_OF_CATALOG, values)
    cells = scope.cells
    return [_taught(cells, row) for row in rows]


def _taught(cells: TextCipher, row: Any) -> TeachingPlan:
    seq, plan_id, intent, category, written, at_s = row
    steps = orjson.loads(written)
    if MARK in (intent[:1], category[:1]) or isinstance(steps, str):
        features = category if is_sealed(category) else {"category": category}
        stored = {"intent": intent, "features": features, "steps": steps}
        opened = open_plan(cells, UUID(plan_id), stored)
        intent, steps = opened["intent"], opened["steps"]
        category = opened["features"].get("category") or ""
    return TeachingPlan(seq, plan_id, intent, category, steps, at_s)


def catalogs_to_learn(scope: Scope) -> list[str]:
    """Find the catalogs with uncounted outcomes; an empty name for plans without a catalog."""
    counted = (
        select(LearningState.watermark)
        .where(
            LearningState.tenant_id == scope.tenant_id,
            LearningState.name == func.coalesce(Plan.catalog, ""),
        )
        .scalar_subquery()
    )
    found = scope.db.execute(
        select(func.coalesce(Plan.catalog, ""))
        .where(Plan.tenant_id == scope.tenant_id, Plan.outcome_seq > func.coalesce(counted, 0))
        .distinct()
    )
    return sorted(found.scalars())


def catalogs_with_outcomes(scope: Scope) -> list[str]:
    """Find the catalogs with outcomes, counted or not; an empty name for plans without a catalog."""
    found = select(func.coalesce(Plan.catalog, "")).where(
        Plan.tenant_id == scope.tenant_id, Plan.outcome_seq > 0
    )
    return sorted(scope.db.execute(found.distinct()).scalars())


def begin_night(db: Transaction, night: date) -> bool:
    """Record the learning request of a night. Returns False for a night recorded before."""
    made = db.execute(
        insert(LearningNight).values(night=night).on_conflict_do_nothing().returning(LearningNight.night)
    )
    return made.one_or_none() is not None


_TENANTS = text(
    """
    select tenant_id from tenant
    where tenant_id > :after and (
        exists (select from plan_history as plan where plan.tenant_id = tenant.tenant_id and outcome_seq > 0)
        or exists (select from preflight_decision as one where one.tenant_id = tenant.tenant_id)
        or exists (select from artifact_summary as one where one.tenant_id = tenant.tenant_id)
        or exists (select from plan_erasure as one where one.tenant_id = tenant.tenant_id)
        or exists (select from prior_canary as one where one.tenant_id = tenant.tenant_id)
    )
    order by tenant_id limit :most
    """
)


def tenants_to_learn(db: Transaction, *, after: UUID, most: int) -> list[UUID]:
    """Load a page of the tenants with anything to learn from, in the order of the ids."""
    return list(db.execute(_TENANTS, {"after": after, "most": most}).scalars())
