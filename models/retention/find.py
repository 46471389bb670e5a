"""Search for rows beyond retention, a bounded number of rows at a time, at any size of the tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import text

from models.database import Transaction

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
