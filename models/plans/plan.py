"""Stored plans of tools and their sealed text."""

import json
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
    RowMapping,
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

from context.tool_plans.features import intent_sha
from context.tool_plans.outcomes import PastPlan
from models.base import SESSION_KEY, Base, CreatedAt, TenantKey
from models.due_work.queue import WorkKind, enqueue
from models.encryption.cipher import seals
from models.encryption.keys import TextCipher, TextForgottenError
from models.scope import Scope

_TEXTS = frozenset({"intent", "context", "gap_warning", "failure_detail"})
_VALUES = frozenset({"features", "steps"})


def seal_plan(cells: TextCipher, plan_id: UUID, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Seal columns of a plan's row for storing.

    Args:
        cells: Cells of the plan's tenant.
        plan_id: The plan.
        columns: Columns by name; columns without anybody's words stay unchanged.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    return {name: _seal(cells, plan_id, name, value) for name, value in columns.items()}


def _seal(cells: TextCipher, plan_id: UUID, name: str, value: Any) -> Any:
    if name in _TEXTS:
        return cells.seal_if(f"plan_history.{name}", value, plan_id)
    if name in _VALUES:
        return cells.seal_json(f"plan_history.{name}", value, plan_id)
    return cells.digest(value) if name == "intent_sha" else value


def seal_written(cells: TextCipher, plan_id: UUID, name: str, written: str) -> str:
    """Seal a column of already written JSON as a JSON string."""
    return json.dumps(cells.seal(f"plan_history.{name}", written, plan_id)) if seals() else written


def open_plan(cells: TextCipher, plan_id: UUID, columns: Mapping[str, Any] | RowMapping) -> dict[str, Any]:
    """Decrypt columns of a plan's row; the hash of the intent stays as stored.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    return {str(name): _open(cells, plan_id, str(name), value) for name, value in columns.items()}


def _open(cells: TextCipher, plan_id: UUID, name: str, value: Any) -> Any:
    if name in _TEXTS:
        return cells.open_if(f"plan_history.{name}", value, plan_id)
    return cells.open_json(f"plan_history.{name}", value, plan_id) if name in _VALUES else value


SHA_BYTES = 32


class PlanConflictError(Exception):
    """A key that named another request for a plan before."""


class PlanSource(StrEnum):
    """Source of a plan."""

    ASKED = "asked"
    TURN = "turn"
    IMPORTED = "imported"


class PlanStatus(StrEnum):
    """Status of a plan."""

    WANTED = "wanted"
    READY = "ready"
    FAILED = "failed"


class PlanMethod(StrEnum):
    """Method that made the steps."""

    LLM = "llm"
    LEXICAL = "lexical"
    REPORTED = "reported"


outcome_numbers = NumberSequence("plan_outcome_seq", metadata=Base.metadata, data_type=BigInteger)
"""Places in the order of joined outcomes; see `models.plans.outcome`."""


class Plan(Base):
    """A plan: the intent, the steps, and the known outcome of each step."""

    __tablename__ = "plan_history"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        Index(None, "tenant_id", "created_at"),
        Index(None, "tenant_id", "user_id", "created_at", postgresql_where=text("user_id is not null")),
        Index(None, "tenant_id", "session_id", "turn_id", postgresql_where=text("session_id is not null")),
        Index(None, "tenant_id", "catalog", "outcome_seq", postgresql_where=text("outcome_seq is not null")),
        Index(None, "tenant_id", "ready_at", postgresql_where=text("source = 'asked'")),
        CheckConstraint("source in ('asked', 'turn', 'imported')", name="source_is_known"),
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
    outcome_turns: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    prior_set: Mapped[int | None]
    went_well: Mapped[bool | None]


@dataclass(frozen=True)
class WantedPlan:
    """A requested plan.

    Attributes:
        intent: The user's intent.
        intent_sha: SHA-256 of the intent's normal form.
        features: Features of the intent, JSON-ready.
        complexity: Amount of planning needed, in [0, 1].
        mode: `plan` or `route`.
        catalog: The catalog's name.
        catalog_digest: The catalog's version.
        model: The planning model.
        context: Information for the plan beside the intent.
        session_id: The existing conversation; None without a conversation.
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
    """A worker's answer to a wanted plan.

    Attributes:
        steps: JSON objects with order, tool, args, rationale, outcome and error.
        method: Method that made the steps.
        gap_warning: Lacks of the catalog, in words; None without a lack.
        more_steps_likely: True if more steps would follow; None when not asked.
        compaction: Parts of the catalog removed for the prompt; None when the catalog was not shown.
        usage: Tokens, calls and price, JSON-ready.
        call_ids: The calls in the ledger.
        duration_ms: Working time.
        prior_set: Version of the priors that ranked the catalog; 0 for words alone.
    """

    steps: Sequence[Mapping[str, Any]]
    method: PlanMethod
    gap_warning: str | None = None
    more_steps_likely: bool | None = None
    compaction: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    call_ids: Sequence[UUID] = ()
    duration_ms: int = 0
    prior_set: int | None = None


@dataclass(frozen=True)
class FailedPlan:
    """A worker's reason for a failed plan.

    Attributes:
        cause: Cause of the failure, as a stable word.
        detail: Details, without the words of the prompt.
        compaction: Parts of the catalog removed for the prompt.
        usage: Costs of the failed calls.
        call_ids: The calls in the ledger.
        duration_ms: Working time.
    """

    cause: str
    detail: str = ""
    compaction: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    call_ids: Sequence[UUID] = ()
    duration_ms: int = 0


def want_plan(scope: Scope, plan: WantedPlan, *, awaited: bool = False, key: bytes | None = None) -> UUID:
    """Request a plan: the row and the due work, in one transaction. Returns the plan's id.

    A plan named by the caller with a key is requested once, and found again by the key.

    Raises:
        PlanConflictError: The key named another request.
    """
    plan_id = uuid4() if key is None else uuid5(scope.tenant_id, key.hex())
    said = {name: getattr(plan, name) for name in WantedPlan.__dataclass_fields__}
    row = insert(Plan).values(
        tenant_id=scope.tenant_id,
        plan_id=plan_id,
        source=PlanSource.ASKED,
        status=PlanStatus.WANTED,
        **seal_plan(scope.cells, plan_id, {**said, "features": dict(plan.features)}),
    )
    new = row.on_conflict_do_nothing().returning(Plan.plan_id)
    if scope.db.execute(new).scalar_one_or_none() is None:
        known = find_plan(scope, plan_id)
        if known is not None and not _is_asked_by(known, plan):
            raise PlanConflictError
        return plan_id
    enqueue(scope, WorkKind.PLAN, str(plan_id), awaited=awaited)
    return plan_id


def _is_asked_by(known: Plan, plan: WantedPlan) -> bool:
    """Tell whether a plan is this request's; a finished plan names the model that made it."""
    is_open = known.status == PlanStatus.WANTED
    return all(getattr(known, name) == getattr(plan, name) for name in _ASKED) and (
        not is_open or known.model == plan.model
    )


_ASKED = ("intent", "mode", "catalog", "context", "session_id", "user_id")


def find_plan(scope: Scope, plan_id: UUID) -> Plan | None:
    """Find a plan; returns None when the tenant has no such plan."""
    row = scope.db.execute(
        select(Plan.__table__).where(Plan.tenant_id == scope.tenant_id, Plan.plan_id == plan_id)
    ).one_or_none()
    if row is None:
        return None
    columns = row._mapping  # noqa: SLF001 (SQLAlchemy's public mapping view)
    return Plan(**open_plan(scope.cells, plan_id, columns))


def list_past(
    scope: Scope, *, user_id: str | None = None, catalog: str | None = None, most: int
) -> list[PastPlan]:
    """List the newest plans with steps, newest first, of a user or a catalog if named.

    Only the needed columns are read: intents and arguments may be long. Plans sealed with a forgotten key are
    left out, though the rows may still exist.
    """
    rows = scope.execute(_PAST, user_id=user_id, catalog=catalog, most=most).mappings()
    cells = scope.cells
    return [plan for row in rows if (plan := _past(cells, **row)) is not None]


def _past(cells: TextCipher, *, plan_id: UUID, sha: bytes, **columns: Any) -> PastPlan | None:
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


def keep_plan(scope: Scope, plan_id: UUID, made: MadePlan) -> bool:
    """Answer a wanted plan. False: the plan is gone or was answered already; nothing was changed."""
    return _end(
        scope,
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
        prior_set=made.prior_set,
    )


def fail_plan(scope: Scope, plan_id: UUID, failed: FailedPlan) -> bool:
    """Record the failure of a wanted plan. False: the plan is gone or was answered already."""
    return _end(
        scope,
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


def _end(scope: Scope, plan_id: UUID, **values: Any) -> bool:
    ended = scope.db.execute(
        update(Plan)
        .where(Plan.tenant_id == scope.tenant_id, Plan.plan_id == plan_id, Plan.status == PlanStatus.WANTED)
        .values(ready_at=func.now(), **seal_plan(scope.cells, plan_id, values))
    )
    return ended.rowcount == 1
