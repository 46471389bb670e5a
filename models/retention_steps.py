"""Delete what is older than wanted, some rows at a time; rows that somebody holds are left for later."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from models.erase_receipt import Receipt
from models.erase_session import erase_session
from models.retention import note_gone
from models.session import Transaction
from models.summary_levels import keep_newest

Place = tuple[UUID, str]
"""A tenant and one of its sessions."""

FIRST_PLACE: Place = (UUID(int=0), "")

_AGE = "nullif(coalesce(wish.{name}, :general), 0)"
"""What is in force for a tenant; NULL, which nothing is older than, for ever."""

_OLD_SESSIONS = text(
    f"""
    select session.tenant_id, session.session_id
    from session left join retention as wish using (tenant_id)
    where (session.tenant_id, session.session_id) > (:tenant_id, :session_id)
        and coalesce(session.last_turn_at, session.created_at)
            < now() - make_interval(days => {_AGE.format(name="session_days")})
    order by session.tenant_id, session.session_id
    limit :most
    """  # noqa: S608 (names of ours)
)


def find_old_sessions(db: Transaction, after: Place, *, general: int, most: int) -> Sequence[Place]:
    """Find sessions that had no turn for longer than they are kept, in the order of their keys.

    Args:
        db: A connection.
        after: Only those behind this one.
        general: The days for tenants that say nothing; 0 is for ever.
        most: The most, >= 1.
    """
    tenant_id, session_id = after
    values = {"tenant_id": tenant_id, "session_id": session_id, "general": general, "most": most}
    return [(row.tenant_id, row.session_id) for row in db.execute(_OLD_SESSIONS, values)]


_HOLD_IF_OLD = text(
    f"""
    select 1
    from session left join retention as wish using (tenant_id)
    where session.tenant_id = :tenant_id and session.session_id = :session_id
        and coalesce(session.last_turn_at, session.created_at)
            < now() - make_interval(days => {_AGE.format(name="session_days")})
    for update of session skip locked
    """  # noqa: S608 (names of ours)
)


def erase_if_old(db: Transaction, place: Place, *, general: int) -> Receipt | None:
    """Erase a session, as a call to erase it would; None where it is held or had a turn meanwhile."""
    tenant_id, session_id = place
    values = {"tenant_id": tenant_id, "session_id": session_id, "general": general}
    if db.execute(_HOLD_IF_OLD, values).one_or_none() is None:
        return None
    receipt = erase_session(db, tenant_id, session_id)
    note_gone(db, tenant_id, "session", 1)
    note_gone(db, tenant_id, "message", receipt.rows["message"])
    return receipt


_DROP_PLANS = text(
    f"""
    with old as materialized (
        select plan.tenant_id, plan.plan_id
        from plan_history as plan left join retention as wish using (tenant_id)
        where plan.status <> 'wanted'
            and plan.created_at < now() - make_interval(days => {_AGE.format(name="plan_days")})
        limit :most
        for update of plan skip locked
    ), gone as (
        delete from plan_history using old
        where plan_history.tenant_id = old.tenant_id and plan_history.plan_id = old.plan_id
        returning plan_history.tenant_id
    )
    select tenant_id, count(*) as rows from gone group by tenant_id
    """  # noqa: S608 (names of ours)
)


def drop_old_plans(db: Transaction, *, general: int, most: int) -> int:
    """Delete plans that are older than they are kept, those that are still wanted apart. How many."""
    return _count(db, "plan_history", db.execute(_DROP_PLANS, {"general": general, "most": most}))


_FOLD_CALLS = text(
    f"""
    with old as materialized (
        select call.tenant_id, call.call_id
        from llm_call as call left join retention as wish using (tenant_id)
        where call.state <> 'reserved'
            and call.created_at < date_trunc('day', now(), 'UTC')
                - make_interval(days => {_AGE.format(name="ledger_days")} - 1)
        limit :most
        for update of call skip locked
    ), gone as (
        delete from llm_call using old
        where llm_call.tenant_id = old.tenant_id and llm_call.call_id = old.call_id
        returning llm_call.*
    ), folded as (
        insert into llm_call_day as kept
        select tenant_id, (created_at at time zone 'UTC')::date, purpose, model, count(*),
            count(*) filter (where state = 'failed'), count(*) filter (where state = 'lost'),
            coalesce(sum(input_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(output_tokens), 0),
            coalesce(sum(reasoning_tokens), 0), coalesce(sum(price_usd), 0),
            count(*) filter (where price_usd is null and input_tokens is not null)
        from gone group by 1, 2, 3, 4
        on conflict (tenant_id, day, purpose, model) do update set
            calls = kept.calls + excluded.calls, failed = kept.failed + excluded.failed,
            lost = kept.lost + excluded.lost, input_tokens = kept.input_tokens + excluded.input_tokens,
            cached_tokens = kept.cached_tokens + excluded.cached_tokens,
            output_tokens = kept.output_tokens + excluded.output_tokens,
            reasoning_tokens = kept.reasoning_tokens + excluded.reasoning_tokens,
            price_usd = kept.price_usd + excluded.price_usd,
            unpriced_calls = kept.unpriced_calls + excluded.unpriced_calls
    )
    select tenant_id, count(*) as rows from gone group by tenant_id
    """  # noqa: S608 (names of ours)
)


def fold_old_calls(db: Transaction, *, general: int, most: int) -> int:
    """Turn calls of models that are older than they are kept into sums by day (UTC). How many."""
    return _count(db, "llm_call", db.execute(_FOLD_CALLS, {"general": general, "most": most}))


_CROWDED = text(
    f"""
    select summary.tenant_id, session_id
    from summary left join retention as wish using (tenant_id)
    where (summary.tenant_id, session_id) > (:tenant_id, :session_id)
    group by summary.tenant_id, session_id, wish.summary_versions
    having count(*) > {_AGE.format(name="summary_versions")}
    order by summary.tenant_id, session_id
    limit :most
    """  # noqa: S608 (names of ours)
)


def find_crowded_sessions(db: Transaction, after: Place, *, general: int, most: int) -> Sequence[Place]:
    """Find sessions with more versions of their summary than are kept, in the order of their keys.

    Args:
        db: A connection.
        after: Only those behind this one.
        general: The versions for tenants that say nothing; 0 is all.
        most: The most, >= 1.
    """
    tenant_id, session_id = after
    values = {"tenant_id": tenant_id, "session_id": session_id, "general": general, "most": most}
    return [(row.tenant_id, row.session_id) for row in db.execute(_CROWDED, values)]


_HOLD = text(
    f"""
    select {_AGE.format(name="summary_versions")} as keep
    from session left join retention as wish using (tenant_id)
    where session.tenant_id = :tenant_id and session.session_id = :session_id
    for no key update of session skip locked
    """  # noqa: S608 (names of ours)
)


def drop_old_summaries(db: Transaction, place: Place, *, general: int) -> int:
    """Delete versions of a session's summary beyond those that are kept. How many; 0 where it is held.

    Whoever puts a version in force holds the session's row too: none is deleted that is just chosen.
    """
    tenant_id, session_id = place
    values = {"tenant_id": tenant_id, "session_id": session_id, "general": general}
    keep = db.execute(_HOLD, values).scalar()
    gone = keep_newest(db, tenant_id, session_id, most=keep) if keep else 0
    note_gone(db, tenant_id, "summary", gone)
    return gone


def _count(db: Transaction, name: str, found: object) -> int:
    total = 0
    for row in found:  # type: ignore[attr-defined]
        note_gone(db, row.tenant_id, name, row.rows)
        total += row.rows
    return total
