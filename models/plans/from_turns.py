"""Plans arriving with turns: stored in the transaction of the turns, many in one statement."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import func, text, update

from context.tool_plans.features import intent_sha, read_features
from context.tool_plans.outcomes import Merged, merge_outcomes, went_well
from context.tool_plans.reported import ReportedPlan, read_reported_plan
from models.conversations.log import NewTurn
from models.encryption.keys import TextCipher
from models.plans.outcome import announce_outcome, keep_outcomes, lock_plans
from models.plans.plan import (
    Plan,
    PlanMethod,
    PlanSource,
    PlanStatus,
    seal_plan,
    seal_written,
)
from models.scope import Scope

_INSERT = text(
    """
    insert into plan_history (tenant_id, plan_id, source, status, session_id, turn_id, user_id, intent,
        intent_sha, features, complexity, mode, catalog, catalog_digest, model, method, duration_ms, steps,
        created_at, ready_at, outcome_at, outcome_seq, prior_set, went_well)
    select :tenant_id, p.plan_id, :source, :status, p.session_id, p.turn_id, p.user_id, p.intent,
        p.intent_sha, p.features, p.complexity, p.mode, p.catalog,
        case when p.catalog is not null then coalesce(p.catalog_digest, (
            select c.digest from catalog c where c.tenant_id = :tenant_id and c.name = p.catalog)) end,
        p.model, :method, p.duration_ms, p.steps, least(now(), p.made_at), least(now(), p.made_at),
        case when p.ended then least(now(), p.completed_at) end,
        case when p.ended then nextval('plan_outcome_seq') end, p.prior_set, p.went_well
    from unnest(
        cast(:plan_id as uuid[]), cast(:session_id as text[]), cast(:turn_id as text[]),
        cast(:user_id as text[]), cast(:intent as text[]), cast(:intent_sha as bytea[]),
        cast(:features as jsonb[]), cast(:complexity as float8[]), cast(:mode as text[]),
        cast(:catalog as text[]), cast(:catalog_digest as text[]), cast(:model as text[]),
        cast(:duration_ms as int[]), cast(:steps as jsonb[]), cast(:ended as boolean[]),
        cast(:completed_at as timestamptz[]), cast(:made_at as timestamptz[]),
        cast(:prior_set as int[]), cast(:went_well as boolean[])
    ) as p (plan_id, session_id, turn_id, user_id, intent, intent_sha, features, complexity, mode, catalog,
        catalog_digest, model, duration_ms, steps, ended, completed_at, made_at, prior_set, went_well)
    on conflict do nothing
    """
).bindparams(status=PlanStatus.READY.value, method=PlanMethod.REPORTED.value)
"""All plans in one statement: one round trip for any number.

A plan with a catalog and no version is taken to be made from the version in force. Plan and outcome are
as old as the turn or the row: a plan imported later counts with its real time.
"""

_COLUMNS = (
    "plan_id",
    "session_id",
    "turn_id",
    "user_id",
    "intent",
    "intent_sha",
    "features",
    "complexity",
    "mode",
    "catalog",
    "catalog_digest",
    "model",
    "duration_ms",
    "steps",
    "ended",
    "completed_at",
    "made_at",
    "prior_set",
    "went_well",
)


def insert_plans(scope: Scope, rows: Sequence[Mapping[str, Any]], *, source: PlanSource) -> int:
    """Seal and insert plans; a plan with a known id stays as it is.

    Args:
        scope: The tenant's transaction, which has announced outcomes.
        rows: Columns by name, `features` and `steps` as written JSON; a missing column is null.
            `completed_at` is the time of the outcome, `made_at` of the plan, each at most now and now
            without a value.
        source: Source of the plans.

    Returns:
        Number of new plans.
    """
    stored = [_stored(scope.cells, row) for row in rows]
    columns = {name: [row.get(name) for row in stored] for name in _COLUMNS}
    return scope.execute(_INSERT, source=source.value, **columns).rowcount


def _stored(cells: TextCipher, row: Mapping[str, Any]) -> dict[str, Any]:
    plan_id = row["plan_id"]
    written = {name: seal_written(cells, plan_id, name, row[name]) for name in ("features", "steps")}
    texts = {name: value for name, value in row.items() if name not in written}
    return {**seal_plan(cells, plan_id, texts), **written}


log = structlog.get_logger()


@dataclass(frozen=True)
class TurnPlan:
    """A plan and the turn of the plan.

    Attributes:
        session_id: The turn's conversation.
        turn_id: The turn.
        user_id: The turn's user.
        plan: The plan as read.
        row: Row to store unless the plan is ours; None without steps.
        completed_at: End of the turn; None when unknown.
    """

    session_id: str
    turn_id: str
    user_id: str | None
    plan: ReportedPlan
    row: Mapping[str, Any] | None
    completed_at: datetime | None = None


def plans_of_turns(turns: Iterable[NewTurn]) -> list[TurnPlan | None]:
    """Read the plans of turns; call before the sessions are locked: intents may be long.

    An unreadable plan is left out, for any reason: the turn is stored all the same.

    Returns:
        The plan of each turn, if the plan names steps or a plan of ours; otherwise None.
    """
    return [_plan_of(turn) if turn.plan else None for turn in turns]


def _plan_of(turn: NewTurn) -> TurnPlan | None:
    try:
        plan = read_reported_plan(turn.plan or {}, turn.messages)
        row = _row(turn, plan) if plan and plan.steps else None
    except Exception as error:  # noqa: BLE001 (a plan is worth less than the turn that brought it)
        log.warning("turn_plan_unreadable", error=type(error).__name__)
        return None
    if plan is None:
        return None
    return TurnPlan(turn.session_id, turn.turn_id, turn.user_id, plan, row, turn.completed_at)


def store_turn_plans(scope: Scope, plans: Sequence[TurnPlan]) -> None:
    """Store plans of turns, with the outcomes given by the turns' own tool results.

    A plan of ours followed by a turn gets the outcomes, and belongs to the turn's session from then on.

    Args:
        scope: The transaction that stores the turns; the sessions are locked.
        plans: Result of `plans_of_turns` for new turns: plans of duplicates are stored already.
    """
    if not plans:
        return
    announce_outcome(scope)
    rest = _join_followed(scope, plans)
    if rest:
        insert_plans(scope, rest, source=PlanSource.TURN)


def _join_followed(scope: Scope, plans: Sequence[TurnPlan]) -> list[Mapping[str, Any]]:
    """Join outcomes to plans of ours; returns the rows of other plans with steps."""
    ids = sorted({plan.plan.follows for plan in plans if plan.plan.follows})
    known = lock_plans(scope, ids) if ids else {}
    rest: list[Mapping[str, Any]] = []
    for plan in plans:
        row = known.get(plan.plan.follows) if plan.plan.follows else None
        if row is None or row["session_id"] not in (None, plan.session_id):
            rest += [plan.row] if plan.row else []
            continue
        open_steps = [step for step in row["steps"] if not step.get("outcome")]
        merged = merge_outcomes(row["steps"], plan.plan.outcomes_of(open_steps))
        row["steps"], row["session_id"] = list(merged.steps), plan.session_id
        _follow(scope, plan, merged)
    return rest


def _follow(scope: Scope, plan: TurnPlan, merged: Merged) -> None:
    if (plan_id := plan.plan.follows) is None:
        return
    values = {
        "session_id": plan.session_id,
        "turn_id": func.coalesce(Plan.turn_id, plan.turn_id),
        "user_id": func.coalesce(Plan.user_id, plan.user_id),
    }
    scope.db.execute(
        update(Plan).where(Plan.tenant_id == scope.tenant_id, Plan.plan_id == plan_id).values(values)
    )
    keep_outcomes(scope, plan_id, merged, turn_id=plan.turn_id, at=plan.completed_at)


def _row(turn: NewTurn, plan: ReportedPlan) -> dict[str, Any]:
    features = read_features(plan.intent)
    return {
        "plan_id": uuid4(),
        "session_id": turn.session_id,
        "turn_id": turn.turn_id,
        "user_id": turn.user_id,
        "intent": plan.intent,
        "intent_sha": intent_sha(plan.intent),
        "features": json.dumps(features.as_json()),
        "complexity": features.complexity,
        "mode": plan.mode.value,
        "catalog": plan.catalog,
        "catalog_digest": plan.catalog_digest,
        "model": plan.model,
        "duration_ms": plan.duration_ms,
        "steps": json.dumps(plan.steps),
        "completed_at": turn.completed_at,
        "made_at": turn.completed_at,
        "ended": any(step.get("outcome") for step in plan.steps),
        "went_well": went_well(plan.steps),
        "prior_set": plan.prior_set,
    }
