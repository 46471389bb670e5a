"""Plans for a session's next context: requested with a question, made by a worker, read by the question."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ForeignKeyConstraint,
    Text,
    Uuid,
    false,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, mapped_column

from context.focus import focus_key
from context.types import JsonObject
from models.artifacts.sealing import MARK_OF_KEYED, key_forms, stored_key
from models.base import SESSION_KEY, Base, CreatedAt, TenantPart, read_time
from models.encryption.keys import TextCipher
from models.scope import Scope

_DIGEST_CHARS = 32
MOST_PLANS = 20
"""Plans kept per session: the next question is rarely an old question."""


AGAIN_AFTER_S = 300.0
"""Seconds until a failed plan is requested again: one bad answer says little about the next answer."""


class PlanState(StrEnum):
    """State of a plan."""

    WANTED = "wanted"
    READY = "ready"
    FAILED = "failed"


class StoredArtifactPlan(Base):
    """A model's plan for the use of certain artifacts for a question."""

    __tablename__ = "artifact_plan"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        CheckConstraint("state in ('wanted', 'ready', 'failed')", name="state_is_known"),
        CheckConstraint("(state = 'ready') = (plan is not null)", name="ready_has_a_plan"),
        CheckConstraint("state <> 'failed' or reason is not null", name="failed_says_why"),
        CheckConstraint("budget_tokens >= 0", name="budget_is_counted"),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    question_key: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    artifacts_digest: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    artifact_ids: Mapped[list[str]] = mapped_column(ARRAY(Text))
    question: Mapped[str]
    focus: Mapped[str] = mapped_column(server_default=text("''"))
    attached_ids: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    budget_tokens: Mapped[int]
    model: Mapped[str]
    state: Mapped[str]
    plan: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    brought: Mapped[list[Any] | None] = mapped_column(JSONB(none_as_null=True))
    reason: Mapped[str | None]
    planner: Mapped[str | None]
    call_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid), server_default=text("'{}'"))
    created_at: Mapped[CreatedAt]
    ready_at: Mapped[datetime | None]


@dataclass(frozen=True)
class PlanKey:
    """Key of a plan: a session, a question with the planning model, and certain artifacts."""

    session_id: str
    question_key: str
    artifacts_digest: str

    @classmethod
    def of(
        cls,
        session_id: str,
        question: str,
        artifact_ids: Iterable[str],
        *,
        focus: str = "",
        attached: Collection[str] = (),
        model: str = "",
    ) -> "PlanKey":
        """Build the key of a plan from question, focus, model and artifacts, in any order of the artifacts.

        Args:
            session_id: The session.
            question: The question.
            artifact_ids: Usable artifacts.
            focus: The caller's focus for reading artifacts; empty without a focus.
            attached: Artifacts brought by the request.
            model: The planning model; empty for the model of the settings.
        """
        named = (f"{one}+" if one in attached else one for one in artifact_ids)
        digest = hashlib.sha256("\n".join(sorted(named)).encode()).hexdigest()[:_DIGEST_CHARS]
        return cls(session_id, question_key(question, focus=focus, model=model), digest)


def question_key(question: str, *, focus: str = "", model: str = "") -> str:
    """Build the part of a plan's key from question, focus and model."""
    read_for = f"+{focus_key(focus)}" if focus else ""
    return f"{focus_key(question)}{read_for}{f'@{model}' if model else ''}"


@dataclass(frozen=True)
class PlanWish:
    """Input of a plan.

    Attributes:
        artifact_ids: Usable artifacts.
        question: The question.
        budget_tokens: Token budget for artifacts, >= 0.
        focus: The caller's focus for reading artifacts; empty without a focus.
        attached_ids: Artifacts brought by the request.
        model: The planning model; empty for the model of the settings.
        brought: Descriptions, for the planner, of artifacts stored nowhere; kept until the planner is done.
    """

    artifact_ids: Sequence[str]
    question: str
    budget_tokens: int
    focus: str = ""
    attached_ids: Sequence[str] = ()
    model: str = ""
    brought: Sequence[JsonObject] = ()


@dataclass(frozen=True)
class ArtifactPlanRecord:
    """A stored plan in any state."""

    key: PlanKey
    artifact_ids: Sequence[str]
    question: str
    focus: str
    attached_ids: Sequence[str]
    budget_tokens: int
    model: str
    state: PlanState
    plan: dict[str, Any] | None
    reason: str | None
    call_ids: Sequence[UUID]
    created_at: datetime
    ready_at: datetime | None
    brought: Sequence[JsonObject] | None


_KEY = tuple(PlanKey.__dataclass_fields__)
_COLUMNS = [
    StoredArtifactPlan.__table__.c[name]
    for name in (*_KEY, *(name for name in ArtifactPlanRecord.__dataclass_fields__ if name != "key"))
]

_FOR_QUESTION_SQL = f"""from artifact_plan plan
    where plan.tenant_id = asked.tenant_id and plan.session_id = asked.session_id
        and (plan.state = '{PlanState.READY}' or plan.question_key = any(asked.question_keys))"""
PLAN_CALLS_SQL = f"select unnest(plan.call_ids) {_FOR_QUESTION_SQL}"
"""The calls behind the plans of `PLAN_SQL`."""

_COLUMNS_SQL = ", ".join(f"plan.{column.name}" for column in _COLUMNS)
PLAN_SQL = f"(select json_agg(json_build_array({_COLUMNS_SQL})) {_FOR_QUESTION_SQL})"
"""The ready plans of a session, and those for the question of `asked`, as JSON; see `read_plan`."""

_TRIM = text(
    """
    delete from artifact_plan where tenant_id = :tenant_id and session_id = :session_id
        and (question_key, artifacts_digest) in (
            select question_key, artifacts_digest from artifact_plan
            where tenant_id = :tenant_id and session_id = :session_id
            order by created_at desc, question_key, artifacts_digest offset :most)
    """
)


def want_plan(
    scope: Scope,
    key: PlanKey,
    wish: PlanWish,
    *,
    most: int = MOST_PLANS,
) -> PlanState:
    """Request a plan; a failed plan is requested again, a wanted or ready plan stays.

    The session's oldest plans make room.

    Returns:
        The present state.
    """
    cells = scope.cells
    key = replace(key, question_key=stored_key(cells, key.question_key))
    row = upsert(StoredArtifactPlan).values(
        tenant_id=scope.tenant_id,
        **key.__dict__,
        artifact_ids=list(wish.artifact_ids),
        question=cells.seal("artifact_plan.question", wish.question, *_row(key)),
        focus=cells.seal("artifact_plan.focus", wish.focus, *_row(key)),
        attached_ids=list(wish.attached_ids),
        budget_tokens=wish.budget_tokens,
        model=wish.model,
        brought=cells.seal_json("artifact_plan.brought", list(wish.brought), *_row(key))
        if wish.brought
        else None,
        state=PlanState.WANTED,
    )
    asked = row.on_conflict_do_update(
        index_elements=[StoredArtifactPlan.__table__.c[name] for name in ("tenant_id", *_KEY)],
        set_={
            "state": row.excluded.state,
            "budget_tokens": row.excluded.budget_tokens,
            "model": row.excluded.model,
            "brought": row.excluded.brought,
            "reason": None,
            "created_at": func.now(),
        },
        where=StoredArtifactPlan.state == PlanState.FAILED,
    ).returning(StoredArtifactPlan.state)
    state = scope.db.execute(asked).scalar()
    if state is None:
        found = find_plan(scope, key)
        return found.state if found else PlanState.WANTED
    scope.execute(_TRIM, session_id=key.session_id, most=most)
    return PlanState(state)


def find_plan(scope: Scope, key: PlanKey) -> ArtifactPlanRecord | None:
    """Find the newest plan of a key, in any state."""
    cells = scope.cells
    newest = select(*_COLUMNS).where(*_of(cells, key)).order_by(StoredArtifactPlan.created_at.desc()).limit(1)
    row = scope.db.execute(newest).one_or_none()
    return _plan(cells, row) if row else None


def read_plan(cells: TextCipher, row: Sequence[Any]) -> ArtifactPlanRecord:
    """Read a plan of `PLAN_SQL`."""
    stored: Any = ArtifactPlanRecord(PlanKey(*row[: len(_KEY)]), *row[len(_KEY) :])
    times = {"created_at": read_time(stored.created_at), "ready_at": read_time(stored.ready_at)}
    return _opened(cells, replace(stored, call_ids=list(map(UUID, stored.call_ids)), **times))


def may_plan_again(scope: Scope, key: PlanKey, *, planner: str | None) -> bool:
    """Check whether a failed plan may be requested again: after some time, or with another planning model.

    Args:
        scope: The transaction and its tenant.
        key: The plan.
        planner: The present planning model; None when unknown.
    """
    is_old = StoredArtifactPlan.ready_at < func.now() - timedelta(seconds=AGAIN_AFTER_S)
    is_changed = StoredArtifactPlan.planner.is_distinct_from(planner) if planner else false()
    found = select(or_(is_old, is_changed)).where(
        *_of(scope.cells, key), StoredArtifactPlan.state == PlanState.FAILED
    )
    return bool(scope.db.execute(found.order_by(StoredArtifactPlan.created_at.desc()).limit(1)).scalar())


def take_wanted_plans(scope: Scope, session_id: str, *, most: int) -> list[ArtifactPlanRecord]:
    """Load the wanted plans of a session, the newest question first."""
    rows = scope.db.execute(
        select(*_COLUMNS)
        .where(
            StoredArtifactPlan.tenant_id == scope.tenant_id,
            StoredArtifactPlan.session_id == session_id,
            StoredArtifactPlan.state == PlanState.WANTED,
        )
        .order_by(StoredArtifactPlan.created_at.desc())
        .limit(most)
    )
    cells = scope.cells
    return [_plan(cells, row) for row in rows]


def store_plan(
    scope: Scope,
    key: PlanKey,
    *,
    plan: dict[str, Any] | None,
    reason: str | None = None,
    planner: str | None = None,
    call_ids: Sequence[UUID] = (),
) -> bool:
    """Store the result of a wish, in the transaction that finishes the work.

    Args:
        scope: The transaction and its tenant.
        key: The plan.
        plan: The plan; None for a failure.
        reason: The reason of a failure; required without a plan.
        planner: The called model.
        call_ids: The model calls in the ledger.

    Returns:
        True when stored; False when nobody waits for the plan any more.
    """
    cells = scope.cells
    wanted = scope.db.execute(
        select(StoredArtifactPlan.question_key)
        .where(*_of(cells, key), StoredArtifactPlan.state == PlanState.WANTED)
        .with_for_update()
    ).scalar()
    if wanted is None:
        return False
    key = replace(key, question_key=wanted)
    done = scope.db.execute(
        update(StoredArtifactPlan)
        .where(
            *_of(cells, key),
            StoredArtifactPlan.question_key == wanted,
            StoredArtifactPlan.state == PlanState.WANTED,
        )
        .values(
            state=PlanState.FAILED if plan is None else PlanState.READY,
            brought=None,
            plan=plan and cells.seal_json("artifact_plan.plan", plan, *_row(key)),
            reason=reason,
            planner=planner,
            call_ids=list(call_ids),
            ready_at=func.now(),
        )
    )
    return done.rowcount == 1


def drop_session_plans(scope: Scope, session_id: str) -> int:
    """Delete the questions and plans of a session. Returns the number of deleted plans."""
    return scope.execute(
        text("delete from artifact_plan where tenant_id = :tenant_id and session_id = :session_id"),
        session_id=session_id,
    ).rowcount


_OTHER_QUESTIONS = text(
    "delete from artifact_plan where tenant_id = :tenant_id and starts_with(question_key, :mark) <> :keyed"
)


def drop_other_questions(scope: Scope, *, keyed: bool) -> int:
    """Delete the plans with question keys of the other kind; the plans are made again."""
    asked = {"mark": MARK_OF_KEYED, "keyed": keyed}
    return scope.execute(_OTHER_QUESTIONS, **asked).rowcount


def _of(cells: TextCipher, key: PlanKey) -> list[Any]:
    return [
        StoredArtifactPlan.tenant_id == cells.tenant_id,
        StoredArtifactPlan.session_id == key.session_id,
        StoredArtifactPlan.question_key.in_(key_forms(cells, key.question_key)),
        StoredArtifactPlan.artifacts_digest == key.artifacts_digest,
    ]


def _row(key: PlanKey) -> tuple[str, ...]:
    return (key.session_id, key.question_key, key.artifacts_digest)


def _plan(cells: TextCipher, stored: Any) -> ArtifactPlanRecord:
    length = len(_KEY)
    return _opened(cells, ArtifactPlanRecord(PlanKey(*stored[:length]), *stored[length:]))


def _opened(cells: TextCipher, row: ArtifactPlanRecord) -> ArtifactPlanRecord:
    question = cells.open("artifact_plan.question", row.question, *_row(row.key))
    focus = cells.open("artifact_plan.focus", row.focus, *_row(row.key))
    plan = cells.open_json("artifact_plan.plan", row.plan, *_row(row.key))
    brought = cells.open_json("artifact_plan.brought", row.brought, *_row(row.key))
    return replace(
        row, question=question, focus=focus, state=PlanState(row.state), plan=plan, brought=brought
    )
