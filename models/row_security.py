"""A second wall around tenants, in the database itself: a query that forgets whose rows it means finds none.

Calls that name a tenant run as a role that owns nothing and is held to that tenant by policies. What belongs
to no tenant (whose key it is, health, counts) and the workers, who serve all, run as the role that logs in.
"""

import time
from collections.abc import Iterable
from contextvars import ContextVar
from uuid import UUID

from psycopg import Connection as DriverConnection
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from models.settings import database_settings

ROLE = "afterturn_tenant"
"""Who acts for a tenant: it cannot log in, owns no table, and bypasses nothing."""

SETTING = "afterturn.tenant"
POLICY = "keep_to_tenant"

# In a subquery it is read once a statement instead of once a row; unset and emptied, it equals nothing.
_ROWS = f"tenant_id = (select nullif(current_setting('{SETTING}', true), '')::uuid)"
_NAME_IN_TRANSACTION = f"select set_config('{SETTING}', %s, true)"
_NAME_ON_CONNECTION = f"select set_config('{SETTING}', %s, false)"

GRANTED = {"tenant": "select, update", "api_key": None}
"""What the role may do with tables where it is less than everything."""

LOCK_TRIES = 20
LOCK_PAUSE_S = 0.25

_tenant: ContextVar[UUID | None] = ContextVar("tenant", default=None)


def keep_to(tenant_id: UUID) -> None:
    """Hold what this call does from now on to one tenant; the thread's next call knows nothing of it."""
    _tenant.set(tenant_id)


def present_tenant() -> UUID | None:
    """The tenant that the wall holds this call to; None outside of calls, and where there is no wall."""
    return _tenant.get() if database_settings().row_security else None


def role_for(tenant_id: UUID | None) -> str:
    """As whom a connection acts for a tenant; empty for the one who logs in."""
    return "" if tenant_id is None else ROLE


def name_in_transaction(connection: Connection, tenant_id: UUID) -> None:
    """Name the tenant until the transaction ends, in the round trip that begins it."""
    driver = _driver(connection)
    with driver.pipeline():
        driver.execute(_NAME_IN_TRANSACTION, (str(tenant_id),))


def name_on_connection(connection: Connection, tenant_id: UUID) -> None:
    """Name the tenant for statements that each stand alone; nothing is asked where it was named last time."""
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
    """Hold every table that knows tenants to them; doing it again adds what is missing.

    Each table is locked for an instant and by itself, so it never waits for a call that waits for it.

    Args:
        db: A connection of the tables' owner, each statement for itself.

    Returns:
        The tables that were not held before.
    """
    db.execute(text("set lock_timeout = '500ms'"))
    db.execute(text(_MAKE_ROLE))
    db.execute(text(f"grant usage on schema public to {ROLE}"))
    db.execute(text(f"grant usage on all sequences in schema public to {ROLE}"))
    added = []
    for table in db.execute(_TABLES, {"policy": POLICY}).all():
        steps = _steps(table.relname, enabled=table.relrowsecurity, has_policy=table.has_policy)
        if table.has_tenants and steps:
            _do(db, steps)
            added.append(table.relname)
        # Granted last: a table that the wall does not hold yet is closed.
        allowed = GRANTED.get(
            table.relname, "select, insert, update, delete" if table.has_tenants else "select"
        )
        if allowed is not None:
            db.execute(text(f"grant {allowed} on {table.relname} to {ROLE}"))
    return added


def _steps(table: str, *, enabled: bool, has_policy: bool) -> list[str]:
    steps = [] if has_policy else [f"create policy {POLICY} on {table} to {ROLE} using ({_ROWS})"]
    return steps if enabled else [*steps, f"alter table {table} enable row level security"]


def _do(db: Connection, steps: Iterable[str]) -> None:
    """Do each, a few times where somebody holds the table: whoever waits for a lock makes others wait."""
    for step in steps:
        for tries_left in reversed(range(LOCK_TRIES)):
            try:
                db.execute(text(step))
                break
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", None) != "55P03" or not tries_left:
                    raise
                time.sleep(LOCK_PAUSE_S)
