"""Building of the second wall: a role, a policy on every tenant table, and the role's rights.

The wall is no migration: it exists only when wanted, and each table is locked on its own. The wall is built
again after each migration; until then new tables are closed to the role.
"""

import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from models.tenants.call_role import ROLE, SETTING, VIEWS

POLICY = "keep_to_tenant"
BUILDING = 4_168_711_303
"""Advisory lock key: two builders take turns."""

# In a subquery it is read once a statement instead of once a row; unset and emptied, it equals nothing.
_ROWS = f"tenant_id = (select nullif(current_setting('{SETTING}', true), '')::uuid)"

EVERYTHING = "select, insert, update, delete"
GRANTED = {
    "tenant": "select, update",
    "api_key": "select (tenant_id, scopes, revoked_at, expires_at)",
    "recall_passage": None,
}
"""Rights of the role on tables with less than all rights: of a key, no id, label or hash."""

SEEN_THROUGH_VIEWS = ("recall_passage",)
"""Tables searched by arrays. Behind a policy no index serves such a search: Postgres trusts no array operator
to keep a secret. A view of the owner, before the table in the role's search path, filters by the same
condition and can use the index.
"""

LOCK_TRIES = 20
LOCK_PAUSE_S = 0.25


_MAKE_ROLE = f"""
do $$ begin
    if not exists (select from pg_roles where rolname = '{ROLE}') then
        create role {ROLE} nologin;
    end if;
    if not pg_has_role(current_user, '{ROLE}', 'set') then
        grant {ROLE} to current_user;
    end if;
end $$
"""

_TABLES = text("""
    select c.relname,
        exists (select from pg_attribute a
            where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped) as has_tenants,
        c.relrowsecurity,
        exists (select from pg_policy p where p.polrelid = c.oid and p.polname = :policy) as has_policy
    from pg_class c
    where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
    order by c.relname
""")


def raise_wall(db: Connection) -> list[str]:
    """Hold every tenant table to tenants; a second run adds missing parts.

    Each table is locked for an instant and on its own, so the wall never waits for a call that waits for the
    wall.

    Args:
        db: A connection of the tables' owner in autocommit.

    Returns:
        The newly held tables.
    """
    db.execute(text("select pg_advisory_lock(:key)"), {"key": BUILDING})
    db.execute(text("set lock_timeout = '500ms'"))
    db.execute(text(_MAKE_ROLE))
    db.execute(text(f"create schema if not exists {VIEWS}"))
    db.execute(text(f"grant usage on schema public, {VIEWS} to {ROLE}"))
    db.execute(text(f"grant usage on all sequences in schema public to {ROLE}"))
    added = []
    for table in db.execute(_TABLES, {"policy": POLICY}).all():
        if table.has_tenants and (steps := _steps(table)):
            _do(db, steps)
            added.append(str(table.relname))
        _grant(db, table)
    for name in SEEN_THROUGH_VIEWS:
        _do(db, [_VIEW.format(name=name), f"grant {EVERYTHING} on {VIEWS}.{name} to {ROLE}"])
    db.execute(text("select pg_advisory_unlock(:key)"), {"key": BUILDING})
    return added


_VIEW = f"""
create or replace view {VIEWS}.{{name}} as select * from public.{{name}} where {_ROWS}
    with local check option
"""  # noqa: S608 (parts of our own)


def _grant(db: Connection, table: Any) -> None:
    """Open a table to the role, as the last step, so that a table not yet held is closed."""
    allowed = GRANTED.get(table.relname, EVERYTHING if table.has_tenants else "select")
    if allowed is not None:
        db.execute(text(f"grant {allowed} on public.{table.relname} to {ROLE}"))


def _steps(table: Any) -> list[str]:
    policy = f"create policy {POLICY} on public.{table.relname} to {ROLE} using ({_ROWS})"
    steps = [] if table.has_policy else [policy]
    return (
        steps
        if table.relrowsecurity
        else [*steps, f"alter table public.{table.relname} enable row level security"]
    )


def _do(db: Connection, steps: Iterable[str]) -> None:
    """Run each step, with retries on a locked table: a waiter for a lock makes others wait."""
    for step in steps:
        for tries_left in reversed(range(LOCK_TRIES)):
            try:
                db.execute(text(step))
                break
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", None) != "55P03" or not tries_left:
                    raise
                time.sleep(LOCK_PAUSE_S)
