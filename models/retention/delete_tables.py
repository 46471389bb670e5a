"""Search for rows beyond retention, and delete them step by step, leftovers included."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import TextClause, text

from models.conversations.kept_summaries import keep_newest
from models.database import Transaction
from models.erasure.log import Receipt
from models.erasure.sessions import erase_session
from models.retention.tenant_policy import note_gone
from models.scope import Scope

LOOKED_AT = 2_000
"""Maximum number of rows read by a statement."""

AGE = "nullif(coalesce(wish.{name}, :general), 0)"
"""Retention in force for a tenant; NULL for ever, since nothing is older than NULL."""

_SOME = {
    "session_days": "session where session.tenant_id = tenant.tenant_id "
    "and created_at < now() - make_interval(days => {age})",
    "summary_versions": "summary where summary.tenant_id = tenant.tenant_id",
}
"""Condition for tenants with possibly too old or too many rows: an index lookup for each tenant."""


@dataclass(frozen=True)
class Wishing:
    """A tenant with a retention limit.

    Attributes:
        tenant_id: The tenant.
        most: Kept days, or kept number.
    """

    tenant_id: UUID
    most: int


def find_wishing(db: Transaction, name: str, *, general: int) -> Sequence[Wishing]:
    """Find the tenants with a limit in force and possibly affected rows.

    Args:
        db: A connection.
        name: `session_days` or `summary_versions`.
        general: Limit of tenants without a wish; 0 is for ever.
    """
    age = AGE.format(name=name)
    query = f"""
        select tenant.tenant_id, {age} as most
        from tenant left join retention as wish using (tenant_id)
        where {age} is not null and exists (select from {_SOME[name].format(age=age)})
        order by tenant.tenant_id
    """  # noqa: S608 (names of ours)
    return [Wishing(row.tenant_id, row.most) for row in db.execute(text(query), {"general": general})]


Cursor = tuple[datetime, str]
"""Birth and id of the session before the next page."""

FIRST: Cursor = (datetime(1970, 1, 1, tzinfo=UTC), "")


@dataclass(frozen=True)
class SessionsPage:
    """Some sessions of a tenant.

    Attributes:
        sessions: Sessions beyond the limit.
        after: Start of the next page; None after the last page.
    """

    sessions: Sequence[str]
    after: Cursor | None


Finder = Callable[[Transaction, Wishing, Cursor], SessionsPage]
"""Function that reads a page."""

_OLD = text(
    """
    select session_id, created_at,
        coalesce(last_turn_at, created_at) < now() - make_interval(days => :days) as is_old
    from session
    where tenant_id = :tenant_id and created_at < now() - make_interval(days => :days)
        and (created_at, session_id) > (:created_at, :session_id)
    order by created_at, session_id
    limit :looked_at
    """
)


def find_old_sessions(db: Transaction, wishing: Wishing, after: Cursor) -> SessionsPage:
    """Find sessions without a turn for longer than the kept days, on the next page in the order of birth.

    Old sessions with recent turns are read too, and left out; an index by the last turn would be written at
    each turn.
    """
    born_at, session_id = after
    values = {"created_at": born_at, "session_id": session_id, "looked_at": LOOKED_AT}
    rows = db.execute(_OLD, {"tenant_id": wishing.tenant_id, "days": wishing.most, **values}).all()
    last = (rows[-1].created_at, rows[-1].session_id) if len(rows) == LOOKED_AT else None
    return SessionsPage([row.session_id for row in rows if row.is_old], last)


_CROWDED = text(
    """
    select session_id, count(*) as versions from (
        select session_id from summary
        where tenant_id = :tenant_id and session_id > :session_id
        order by session_id
        limit :looked_at
    ) as looked_at
    group by session_id
    order by session_id
    """
)


def find_crowded_sessions(db: Transaction, wishing: Wishing, after: Cursor) -> SessionsPage:
    """Find sessions with more summary versions than kept, on the next page in the order of ids."""
    looked_at = max(LOOKED_AT, wishing.most + 1)
    values = {"tenant_id": wishing.tenant_id, "session_id": after[1], "looked_at": looked_at}
    rows = db.execute(_CROWDED, values).all()
    is_cut = sum(row.versions for row in rows) == looked_at
    if is_cut and len(rows) > 1:
        rows = rows[:-1]  # not all of its versions were read
    last = (FIRST[0], rows[-1].session_id) if is_cut else None
    return SessionsPage([row.session_id for row in rows if row.versions > wishing.most], last)


Place = tuple[UUID, str]
"""A tenant and a session of the tenant."""

_HOLD_IF_OLD = text(
    f"""
    select 1
    from session left join retention as wish using (tenant_id)
    where session.tenant_id = :tenant_id and session.session_id = :session_id
        and coalesce(session.last_turn_at, session.created_at)
            < now() - make_interval(days => {AGE.format(name="session_days")})
    for update of session skip locked
    """  # noqa: S608 (names of ours)
)


def erase_if_old(db: Transaction, place: Place, *, general: int) -> Receipt | None:
    """Erase an old session like an erase call; returns None for a locked session or a new turn meanwhile."""
    tenant_id, session_id = place
    values = {"tenant_id": tenant_id, "session_id": session_id, "general": general}
    if db.execute(_HOLD_IF_OLD, values).one_or_none() is None:
        return None
    receipt = erase_session(Scope(db, tenant_id), session_id)
    note_gone(Scope(db, tenant_id), "session", 1)
    note_gone(Scope(db, tenant_id), "message", receipt.rows["message"])
    return receipt


def _old(table: str, key: str, wish: str, *, before: str, ended: str) -> str:
    """Build a query for the oldest rows of tenants with a limit, up to a maximum, by tenant and time."""
    age = AGE.format(name=wish)
    return f"""
        wished as materialized (
            select tenant_id, {before.format(age=age)} as before
            from tenant left join retention as wish using (tenant_id)
            where {age} is not null
        ), old as materialized (
            select aged.tenant_id, aged.{key} from wished cross join lateral (
                select tenant_id, {key} from {table}
                where tenant_id = wished.tenant_id and created_at < wished.before and {ended}
                order by created_at
                limit :most
                for update skip locked
            ) as aged
            limit :most
        )"""  # noqa: S608 (names of ours)


_OLD_PLANS = _old(
    "plan_history",
    "plan_id",
    "plan_days",
    before="now() - make_interval(days => {age})",
    ended="status <> 'wanted'",
)
_DROP_PLANS = text(
    f"""
    with {_OLD_PLANS}, gone as (
        delete from plan_history using old
        where plan_history.tenant_id = old.tenant_id and plan_history.plan_id = old.plan_id
        returning plan_history.tenant_id
    )
    select tenant_id, count(*) as rows from gone group by tenant_id
    """  # noqa: S608 (names of ours)
)


def drop_old_plans(db: Transaction, *, general: int, most: int) -> int:
    """Delete plans beyond the kept days, except wanted plans. Returns the number of plans."""
    return _count(db, "plan_history", db.execute(_DROP_PLANS, {"general": general, "most": most}))


_OLD_CALLS = _old(
    "llm_call",
    "call_id",
    "ledger_days",
    before="date_trunc('day', now(), 'UTC') - make_interval(days => {age} - 1)",
    ended="state <> 'reserved'",
)
_FOLD_CALLS = text(
    f"""
    with {_OLD_CALLS}, gone as (
        delete from llm_call using old
        where llm_call.tenant_id = old.tenant_id and llm_call.call_id = old.call_id
        returning llm_call.*
    ), folded as (
        insert into llm_call_day as kept
        select tenant_id, (created_at at time zone 'UTC')::date, purpose, model, count(*),
            count(*) filter (where state = 'failed'), count(*) filter (where state = 'lost'),
            coalesce(sum(input_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(output_tokens), 0),
            coalesce(sum(reasoning_tokens), 0), coalesce(sum(price_usd), 0),
            count(*) filter (where price_usd is null and (input_tokens is not null or charged_tokens > 0))
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
    """Fold model calls beyond the kept days into sums by day (UTC). Returns the number of calls."""
    return _count(db, "llm_call", db.execute(_FOLD_CALLS, {"general": general, "most": most}))


_HOLD = text(
    f"""
    select {AGE.format(name="summary_versions")} as keep
    from session left join retention as wish using (tenant_id)
    where session.tenant_id = :tenant_id and session.session_id = :session_id
    for no key update of session skip locked
    """  # noqa: S608 (names of ours)
)


def drop_old_summaries(db: Transaction, place: Place, *, general: int) -> int:
    """Delete a session's summary versions beyond the kept number. Returns the number; 0 for a locked session.

    Activation of a version locks the session's row too: no just chosen version is deleted.
    """
    tenant_id, session_id = place
    values = {"tenant_id": tenant_id, "session_id": session_id, "general": general}
    keep = db.execute(_HOLD, values).scalar()
    gone = keep_newest(Scope(db, tenant_id), session_id, most=keep) if keep else 0
    note_gone(Scope(db, tenant_id), "summary", gone)
    return gone


def _count(db: Transaction, name: str, found: object) -> int:
    total = 0
    for row in found:  # type: ignore[attr-defined]
        note_gone(Scope(db, row.tenant_id), name, row.rows)
        total += row.rows
    return total


_PAST_AGE = "now() - make_interval(days => nullif(:days, 0))"
"""Limit of old rows; NULL when rows are kept for ever, since nothing is before NULL."""


def _drop(table: str, key: str, condition: str) -> TextClause:
    """Build a statement that deletes rows by a condition, up to a maximum, and returns counts by tenant."""
    ours = " and ".join(f"{table}.{name} = old.{name}" for name in key.split(", "))
    return text(
        f"""
        with old as materialized (
            select {key} from {table} where {condition} limit :most for update skip locked
        ), gone as (
            delete from {table} using old where {ours} returning {table}.tenant_id
        )
        select tenant_id, count(*) as rows from gone group by tenant_id
        """  # noqa: S608 (names of ours)
    )


_KEYS = _drop("api_key", "tenant_id, key_id", f"least(revoked_at, expires_at) < {_PAST_AGE}")
_DEAD_WORK = _drop("due_work", "tenant_id, kind, key", f"state = 'dead' and due_at < {_PAST_AGE}")
_RECEIPTS = _drop("erase_receipt", "tenant_id, erased, id_sha256", f"erased_at < {_PAST_AGE}")
_COUNTS = _drop("retention_log", "tenant_id, day, name", f"day < {_PAST_AGE}")


def drop_old_keys(db: Transaction, *, days: int, most: int) -> int:
    """Delete keys revoked or expired a number of days ago; 0 keeps all. Returns the number of keys."""
    return _run(db, "api_key", _KEYS, days=days, most=most)


def drop_dead_work(db: Transaction, *, days: int, most: int) -> int:
    """Delete work given up and last due a number of days ago; 0 keeps all. Returns the number of pieces.

    A later request for the work begins anew, with no attempt counted.
    """
    return _run(db, "due_work", _DEAD_WORK, days=days, most=most)


def drop_old_receipts(db: Transaction, *, days: int, most: int) -> int:
    """Delete older receipts of erasures; 0 keeps all. Returns the number of receipts."""
    return _run(db, "erase_receipt", _RECEIPTS, days=days, most=most)


def drop_old_counts(db: Transaction, *, days: int, most: int) -> int:
    """Delete older counts of deleted rows; 0 keeps all. Returns the number of counts."""
    return _run(db, "retention_log", _COUNTS, days=days, most=most)


def _run(db: Transaction, name: str, statement: TextClause, *, days: int, most: int) -> int:
    gone = Counter({row.tenant_id: row.rows for row in db.execute(statement, {"days": days, "most": most})})
    for tenant_id, rows in gone.items():
        note_gone(Scope(db, tenant_id), name, rows)
    return gone.total()
