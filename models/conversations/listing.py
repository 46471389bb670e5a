"""Lists of sessions and users, page by page in the order of ids; a page costs the same in any tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from models.scope import Scope

MOST_SCANNED = 10_000
"""Most sessions or users looked at for a page: with a rare match, a page may be short or empty."""


@dataclass(frozen=True)
class ListedSession:
    """A session in a list."""

    session_id: str
    generation: int
    last_seq: int
    turns: int
    history_tokens: int
    model: str | None
    created_at: datetime
    last_turn_at: datetime | None


@dataclass(frozen=True)
class SessionFilter:
    """Filter of a list of sessions.

    Attributes:
        user_id: Sessions with a turn of this user alone; None for all.
        prefix: Beginning of the session ids.
        updated_since: Sessions with a later turn alone; None for all.
    """

    user_id: str | None = None
    prefix: str = ""
    updated_since: datetime | None = None


_IN_ORDER = """
    select session_id from session
    where tenant_id = :tenant_id and session_id > :after and session_id >= :prefix
        and (:prefix = '' or starts_with(session_id, :prefix))
    order by session_id limit :scanned
    """
_OF_USER = """
    with recursive walk as (
        (select session_id from turn
        where tenant_id = :tenant_id and user_id = :user_id and session_id > :after
            and session_id >= :prefix
        order by session_id limit 1)
        union all
        select (select t.session_id from turn t
            where t.tenant_id = :tenant_id and t.user_id = :user_id and t.session_id > walk.session_id
            order by t.session_id limit 1)
        from walk where walk.session_id is not null and starts_with(walk.session_id, :prefix)
    )
    select session_id from walk
    where session_id is not null and starts_with(session_id, :prefix) limit :scanned
    """
"""The index of turns by user is entered once a session, however many turns a session has."""

_ROWS = text(
    """
    select session_id, generation, last_seq,
        case when removed_seqs = '{}' and start_seq = 0 then last_turn_index
            else (select count(*) from turn t
                where t.tenant_id = session.tenant_id and t.session_id = session.session_id) end,
        history_tokens, model, created_at, last_turn_at
    from session
    where tenant_id = :tenant_id and session_id = any(:session_ids)
        and (cast(:updated_since as timestamptz) is null or last_turn_at >= :updated_since)
    order by session_id
    """
)


def count_turns(scope: Scope, session_id: str) -> int:
    """Count the turns that a session still has."""
    wanted = {"session_ids": [session_id], "updated_since": None}
    return next((ListedSession(*row).turns for row in scope.execute(_ROWS, **wanted)), 0)


def list_sessions(
    scope: Scope, wanted: SessionFilter, *, after: str, most: int
) -> tuple[list[ListedSession], str | None]:
    """List sessions by id.

    Args:
        scope: The transaction and its tenant.
        wanted: The filter.
        after: The id after which the page begins; empty for the first page.
        most: The most sessions of a page.

    Returns:
        The page, and the id after which the next page begins; None at the end.
    """
    scanned = MOST_SCANNED if wanted.updated_since else most
    place = {"after": after, "prefix": wanted.prefix, "user_id": wanted.user_id}
    statement = _OF_USER if wanted.user_id is not None else _IN_ORDER
    ids: Sequence[str] = scope.execute(text(statement), **place, scanned=scanned).scalars().all()
    asked = {"session_ids": ids, "updated_since": wanted.updated_since}
    found = [ListedSession(*row) for row in scope.execute(_ROWS, **asked)] if ids else []
    if len(found) > most:
        return found[:most], found[most - 1].session_id
    return found, ids[-1] if len(ids) == scanned else None


_USERS = text(
    """
    with recursive walk as (
        (select user_id from turn
        where tenant_id = :tenant_id and user_id is not null and user_id > :after
        order by user_id limit 1)
        union all
        select (select t.user_id from turn t
            where t.tenant_id = :tenant_id and t.user_id is not null and t.user_id > walk.user_id
            order by t.user_id limit 1)
        from walk where walk.user_id is not null
    )
    select user_id from walk where user_id is not null limit :scanned
    """
)
"""Users are in the order of the database's language, so that a prefix is no range."""


def list_users(scope: Scope, *, prefix: str, after: str, most: int) -> tuple[list[str], str | None]:
    """List the users that turns name.

    Args:
        scope: The transaction and its tenant.
        prefix: Beginning of the user ids.
        after: The id after which the page begins; empty for the first page.
        most: The most users of a page.

    Returns:
        The page, and the id after which the next page begins; None at the end.
    """
    scanned = MOST_SCANNED if prefix else most
    asked = {"after": after, "scanned": scanned}
    ids = list(scope.execute(_USERS, **asked).scalars())
    found = [user_id for user_id in ids if user_id.startswith(prefix)]
    if len(found) > most:
        return found[:most], found[most - 1]
    return found, ids[-1] if len(ids) == scanned else None
