"""A second wall around tenants, in the database itself: a query that forgets whose rows it means finds none.

Calls that name a tenant run as a role that owns nothing and is held to that tenant by policies. What belongs
to no tenant (whose key it is, health, counts) and the workers, who serve all, run as the role that logs in.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from uuid import UUID

from psycopg import Connection as DriverConnection
from sqlalchemy import Connection

from models.settings import database_settings

ROLE = "afterturn_tenant"
"""Who acts for a tenant: it cannot log in, owns no table, and bypasses nothing."""

SETTING = "afterturn.tenant"
VIEWS = "afterturn_held"
"""The schema in which the role finds some tables as views; see `models.tenant_wall`."""

_NAME_IN_TRANSACTION = f"select set_config('{SETTING}', %s, true)"
_NAME_ON_CONNECTION = f"select set_config('{SETTING}', %s, false)"

_tenant: ContextVar[UUID | None] = ContextVar("tenant", default=None)


def keep_to(tenant_id: UUID) -> None:
    """Hold what this call does from now on to one tenant; the thread's next call knows nothing of it."""
    _tenant.set(tenant_id)


def present_tenant() -> UUID | None:
    """The tenant that the wall holds this call to; None outside of calls, and where there is no wall."""
    return _tenant.get() if database_settings().row_security else None


def caller_tenant() -> UUID | None:
    """Whose call this thread works on; None outside of calls."""
    return _tenant.get()


def as_role(role: str) -> Mapping[str, str]:
    """The parameters of sessions that act as a role; none where they act as whom they log in."""
    return {"role": role, "search_path": f"{VIEWS},public"} if role else {}


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
