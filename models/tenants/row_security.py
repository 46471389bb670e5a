"""Row security: a second wall around tenants in the database, the role of a call, and the wall's building.

Calls of a tenant run as a role without tables, held to the tenant by policies. Work without a tenant (owner
of a key, health, counts) and the workers, serving all tenants, run as the login role.

The wall is no migration: it exists only when wanted, and each table is locked on its own. The wall is built
again after each migration; until then new tables are closed to the role.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from psycopg import Connection as DriverConnection
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from models.database_settings import database_settings

ROLE = "afterturn_tenant"
"""Role of a tenant's calls: without login, without tables, without bypass."""

SETTING = "afterturn.tenant"
VIEWS = "afterturn_held"
"""Schema with views of some tables for the role."""

_NAME_ON_CONNECTION = f"select set_config('{SETTING}', %s, false)"

_tenant: ContextVar[UUID | None] = ContextVar("tenant", default=None)


def keep_to(tenant_id: UUID) -> None:
    """Hold the rest of this call to a tenant; the thread's next call is not affected."""
    _tenant.set(tenant_id)


@contextmanager
def outside_wall() -> Iterator[None]:
    """Work as the login role for a while, on rows closed to the role of a tenant's calls.

    The wall does not help there: every query must name its tenant.
    """
    token = _tenant.set(None)
    try:
        yield
    finally:
        _tenant.reset(token)


def present_tenant() -> UUID | None:
    """Return the tenant of the wall; None outside of calls, and without a wall."""
    return _tenant.get() if database_settings().row_security else None


def caller_tenant() -> UUID | None:
    """Return the tenant of the thread's call; None outside of calls."""
    return _tenant.get()


def as_role(role: str) -> Mapping[str, str]:
    """Return the session parameters of a role; empty for the login role."""
    return {"role": role, "search_path": f"{VIEWS},public"} if role else {}


def role_for(tenant_id: UUID | None) -> str:
    """Return the role of a connection for a tenant; empty for the login role."""
    return "" if tenant_id is None else ROLE


def name_in_transaction(connection: Connection, tenant_id: UUID) -> None:
    """Set the tenant until the transaction ends, in the round trip of the begin."""
    set_in_transaction({SETTING: tenant_id}, connection)


def set_in_transaction(parameters: Mapping[str, object], connection: Connection) -> None:
    """Set parameters of the server until the transaction ends, in the round trip of the begin."""
    driver = _driver(connection)
    calls = ", ".join(["set_config(%s, %s, true)"] * len(parameters))
    with driver.pipeline():
        driver.execute(f"select {calls}".encode(), [str(part) for one in parameters.items() for part in one])


def name_on_connection(connection: Connection, tenant_id: UUID) -> None:
    """Set the tenant for single statements; no round trip for the same tenant as last time."""
    if connection.info.get(SETTING) == tenant_id:
        return
    connection.info.pop(SETTING, None)
    _driver(connection).execute(_NAME_ON_CONNECTION, (str(tenant_id),))
    connection.info[SETTING] = tenant_id


def _driver(connection: Connection) -> "DriverConnection[tuple[object, ...]]":
    driver = connection.connection.driver_connection
    if not isinstance(driver, DriverConnection):
        message = "the database is not reached by psycopg"
        raise TypeError(message)
    return driver


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
