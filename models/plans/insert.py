"""Insertion of reported plans: all plans of many turns, or of a part of a file, in one statement."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text

from models.encryption.keys import TextCipher
from models.plans.plan import PlanMethod, PlanSource, PlanStatus, seal_plan, seal_written

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

A plan with a catalog and no version is taken to be made from the version in force. The outcome is as old as
the turn or the row: a plan imported later counts with its real time.
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


def insert_plans(cells: TextCipher, rows: Sequence[Mapping[str, Any]], *, source: PlanSource) -> int:
    """Seal and insert plans; a plan with a known id stays as it is.

    Args:
        cells: Cells of the plans' tenant, in a transaction that has announced outcomes.
        rows: Columns by name, `features` and `steps` as written JSON; a missing column is null.
            `completed_at` is the time of the outcome, `made_at` of the plan, each at most now and now
            without a value.
        source: Source of the plans.

    Returns:
        Number of new plans.
    """
    stored = [_stored(cells, row) for row in rows]
    columns = {name: [row.get(name) for row in stored] for name in _COLUMNS}
    done = cells.db.execute(_INSERT, {"tenant_id": cells.tenant_id, "source": source.value, **columns})
    return done.rowcount


def _stored(cells: TextCipher, row: Mapping[str, Any]) -> dict[str, Any]:
    plan_id = row["plan_id"]
    written = {name: seal_written(cells, plan_id, name, row[name]) for name in ("features", "steps")}
    texts = {name: value for name, value in row.items() if name not in written}
    return {**seal_plan(cells, plan_id, texts), **written}
