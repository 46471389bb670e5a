"""Row security: a second wall around tenants in the database; a query without a tenant finds no rows.

Calls of a tenant run as a role without tables, held to the tenant by policies. Work without a tenant (owner
of a key, health, counts) and the workers, serving all tenants, run as the login role.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

from psycopg import Connection as DriverConnection
from sqlalchemy import Connection

from models.settings import database_settings

ROLE = "afterturn_tenant"
"""Role of a tenant's calls: without login, without tables, without bypass."""

SETTING = "afterturn.tenant"
VIEWS = "afterturn_held"
"""Schema with views of some tables for the role; see `models.tenants.row_security`."""

_NAME_IN_TRANSACTION = f"select set_config('{SETTING}', %s, true)"
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
    driver = _driver(connection)
    with driver.pipeline():
        driver.execute(_NAME_IN_TRANSACTION, (str(tenant_id),))


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
