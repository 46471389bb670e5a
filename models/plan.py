"""Plans: each one a row, from the question to what became of its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4, uuid5

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Text,
    Uuid,
    func,
    select,
    text,
    update,
)
from sqlalchemy import (
    Sequence as NumberSequence,
)
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import Mapped, mapped_column

from context.plans.features import intent_sha
from context.plans.projection import PastPlan
from models.base import Base, CreatedAt, TenantKey
from models.conversation import SESSION_KEY
from models.plan_text import open_plan, seal_plan
from models.session import Transaction
from models.text_keys import Cells, TextForgottenError
from models.work import WorkKind, want

SHA_BYTES = 32


class PlanSource(StrEnum):
    """Where a plan comes from."""

    ASKED = "asked"
    TURN = "turn"


class PlanStatus(StrEnum):
    """Where a plan stands."""

    WANTED = "wanted"
    READY = "ready"
    FAILED = "failed"


class PlanMethod(StrEnum):
    """What made the steps."""

    LLM = "llm"
    LEXICAL = "lexical"
    REPORTED = "reported"


outcome_numbers = NumberSequence("plan_outcome_seq", metadata=Base.metadata, data_type=BigInteger)
"""Places in the order in which outcomes were joined; see `models.plan_outcome`."""


class Plan(Base):
    """One plan: the intent, the steps, and the outcome of each step as far as it is known."""

    __tablename__ = "plan_history"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        Index(None, "tenant_id", "created_at"),
        Index(None, "tenant_id", "user_id", "created_at", postgresql_where=text("user_id is not null")),
        Index(None, "tenant_id", "session_id", "turn_id", postgresql_where=text("session_id is not null")),
        Index(None, "tenant_id", "catalog", "outcome_seq", postgresql_where=text("outcome_seq is not null")),
        CheckConstraint("source in ('asked', 'turn')", name="source_is_known"),
        CheckConstraint("status in ('wanted', 'ready', 'failed')", name="status_is_known"),
        CheckConstraint("mode in ('plan', 'route')", name="mode_is_known"),
        CheckConstraint("method in ('llm', 'lexical', 'reported')", name="method_is_known"),
        CheckConstraint("complexity between 0 and 1", name="complexity_is_a_share"),
        CheckConstraint("(status = 'failed') = (failure is not null)", name="a_failure_has_a_cause"),
        CheckConstraint("(status = 'wanted') = (ready_at is null)", name="what_is_wanted_is_not_ready"),
        CheckConstraint("(outcome_at is null) = (outcome_seq is null)", name="an_outcome_has_a_place"),
        CheckConstraint("turn_id is null or session_id is not null", name="a_turn_has_a_session"),
    )

    tenant_id: Mapped[TenantKey]
    plan_id: Mapped[UUID] = mapped_column(primary_key=True)
    source: Mapped[str]
    status: Mapped[str]
    session_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    turn_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    user_id: Mapped[str | None]
    intent: Mapped[str]
    intent_sha: Mapped[bytes] = mapped_column(LargeBinary)
    features: Mapped[dict[str, Any]]
    complexity: Mapped[float] = mapped_column(Double)
    mode: Mapped[str]
    catalog: Mapped[str | None] = mapped_column(Text(collation="C"))
    catalog_digest: Mapped[str | None]
    model: Mapped[str | None]
    context: Mapped[str | None]
    method: Mapped[str | None]
    steps: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default=text("'[]'::jsonb"))
    gap_warning: Mapped[str | None]
    more_steps_likely: Mapped[bool | None]
    compaction: Mapped[dict[str, Any] | None]
    usage: Mapped[dict[str, Any] | None]
    call_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid), server_default=text("'{}'::uuid[]"))
    failure: Mapped[str | None]
    failure_detail: Mapped[str | None]
    duration_ms: Mapped[int | None]
    created_at: Mapped[CreatedAt]
    ready_at: Mapped[datetime | None]
    outcome_at: Mapped[datetime | None]
    outcome_seq: Mapped[int | None] = mapped_column(BigInteger)


@dataclass(frozen=True)
class WantedPlan:
    """A plan that somebody asks for.

    Attributes:
        intent: What the user wants.
        intent_sha: Its normal form's SHA-256.
        features: What was read of the intent, JSON-ready.
        complexity: How much planning it needs, in [0, 1].
        mode: `plan` or `route`.
        catalog: The catalog's name.
        catalog_digest: Its version.
        model: The model that plans.
        context: What the plan should know beside the intent.
        session_id: The conversation, which must exist; None for none.
        user_id: The user, for erasure.
    """

    intent: str
    intent_sha: bytes
    features: Mapping[str, Any]
    complexity: float
    mode: str
    catalog: str
    catalog_digest: str
    model: str
    context: str | None = None
    session_id: str | None = None
    user_id: str | None = None


@dataclass(frozen=True)
class MadePlan:
    """What a worker made of a wanted plan.

    Attributes:
        steps: JSON objects with order, tool, args, rationale, outcome and error.
        method: What made them.
        gap_warning: What the catalog lacks, in words; None where nothing.
        more_steps_likely: Whether more would follow; None where it was not asked.
        compaction: What the catalog lost before it was shown; None where it was not shown.
        usage: Tokens, calls and price, JSON-ready.
        call_ids: The calls in the ledger.
        duration_ms: How long the worker took.
    """

    steps: Sequence[Mapping[str, Any]]
    method: PlanMethod
    gap_warning: str | None = None
    more_steps_likely: bool | None = None
    compaction: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    call_ids: Sequence[UUID] = ()
    duration_ms: int = 0


@dataclass(frozen=True)
class FailedPlan:
    """Why there will be no plan.

    Attributes:
        cause: What happened, as a stable word.
        detail: More of it, without the words of the prompt.
        compaction: What the catalog lost before it was shown.
        usage: What it cost all the same.
        call_ids: The calls in the ledger.
        duration_ms: How long the worker took.
    """

    cause: str
    detail: str = ""
    compaction: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    call_ids: Sequence[UUID] = ()
    duration_ms: int = 0


def want_plan(
    db: Transaction, tenant_id: UUID, plan: WantedPlan, *, awaited: bool = False, key: bytes | None = None
) -> UUID:
    """Ask for a plan: its row and its due work, in one transaction. Returns the plan's id.

    A plan that its caller named by a key is asked for once, and found again by it.
    """
    plan_id = uuid4() if key is None else uuid5(tenant_id, key.hex())
    said = {name: getattr(plan, name) for name in WantedPlan.__dataclass_fields__}
    row = insert(Plan).values(
        tenant_id=tenant_id,
        plan_id=plan_id,
        source=PlanSource.ASKED,
        status=PlanStatus.WANTED,
        **seal_plan(Cells(db, tenant_id), plan_id, {**said, "features": dict(plan.features)}),
    )
    if db.execute(row.on_conflict_do_nothing()).rowcount == 0:
        return plan_id
    want(db, tenant_id, WorkKind.PLAN, str(plan_id), awaited=awaited)
    return plan_id


def find_plan(db: Transaction, tenant_id: UUID, plan_id: UUID) -> Plan | None:
    """One plan as it stands, or None where the tenant has no such plan."""
    row = db.execute(
        select(Plan.__table__).where(Plan.tenant_id == tenant_id, Plan.plan_id == plan_id)
    ).one_or_none()
    if row is None:
        return None
    columns = row._mapping  # noqa: SLF001 (SQLAlchemy's public mapping view)
    return Plan(**open_plan(Cells(db, tenant_id), plan_id, columns))


def list_past(
    db: Transaction, tenant_id: UUID, *, user_id: str | None = None, catalog: str | None = None, most: int
) -> list[PastPlan]:
    """The newest plans that have steps, newest first, of one user or one catalog where named.

    Only what is looked back upon is read: intents and arguments may be long. Plans that were sealed with a
    key that was forgotten are gone, though their rows may still be there.
    """
    rows = db.execute(
        _PAST, {"tenant_id": tenant_id, "user_id": user_id, "catalog": catalog, "most": most}
    ).mappings()
    cells = Cells(db, tenant_id)
    return [plan for row in rows if (plan := _past(cells, **row)) is not None]


def _past(cells: Cells, *, plan_id: UUID, sha: bytes, **columns: Any) -> PastPlan | None:
    try:
        opened = open_plan(cells, plan_id, columns)
    except TextForgottenError:
        return None
    # Equal intents are one group, sealed or not: a hash that was made with a key is made anew without.
    shown = sha if len(sha) == SHA_BYTES else intent_sha(opened["intent"])
    return PastPlan(shown.hex(), **opened)


_PAST = text(
    """
    select plan_id, intent_sha as sha, created_at as at, mode, catalog,
        case when left(intent, 1) = chr(2) or octet_length(intent_sha) <> 32 then intent
            else left(intent, 2000) end as intent,
        case jsonb_typeof(steps) when 'string' then steps else coalesce((
            select jsonb_agg(
                jsonb_build_object('tool', step -> 'tool', 'outcome', step -> 'outcome') order by place)
            from jsonb_array_elements(steps) with ordinality as listed (step, place)
        ), '[]') end as steps,
        gap_warning is not null as has_gap
    from plan_history
    where tenant_id = :tenant_id and status = 'ready'
        and (cast(:user_id as text) is null or user_id = :user_id)
        and (cast(:catalog as text) is null or catalog = :catalog)
    order by created_at desc, plan_id
    limit :most
    """
)


def keep_plan(db: Transaction, tenant_id: UUID, plan_id: UUID, made: MadePlan) -> bool:
    """Answer a wanted plan. False: it is gone, or was answered already; nothing was changed."""
    return _end(
        db,
        tenant_id,
        plan_id,
        status=PlanStatus.READY,
        steps=[dict(step) for step in made.steps],
        method=made.method,
        gap_warning=made.gap_warning,
        more_steps_likely=made.more_steps_likely,
        compaction=_plain(made.compaction),
        usage=_plain(made.usage),
        call_ids=list(made.call_ids),
        duration_ms=made.duration_ms,
    )


def fail_plan(db: Transaction, tenant_id: UUID, plan_id: UUID, failed: FailedPlan) -> bool:
    """Say that a wanted plan will not come, and why. False: it is gone, or was answered already."""
    return _end(
        db,
        tenant_id,
        plan_id,
        status=PlanStatus.FAILED,
        failure=failed.cause,
        failure_detail=failed.detail or None,
        compaction=_plain(failed.compaction),
        usage=_plain(failed.usage),
        call_ids=list(failed.call_ids),
        duration_ms=failed.duration_ms,
    )


def _plain(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


def _end(db: Transaction, tenant_id: UUID, plan_id: UUID, **values: Any) -> bool:
    ended = db.execute(
        update(Plan)
        .where(Plan.tenant_id == tenant_id, Plan.plan_id == plan_id, Plan.status == PlanStatus.WANTED)
        .values(ready_at=func.now(), **seal_plan(Cells(db, tenant_id), plan_id, values))
    )
    return ended.rowcount == 1
