"""The declarative base: names of constraints, column types shared by every table, and rows as JSON.

A statement gathers several lists of rows for one round trip. Rows go in as one parameter, since the driver
writes arrays for PostgreSQL value by value.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

import orjson
from sqlalchemy import (
    JSON,
    Connection,
    DateTime,
    ForeignKey,
    MetaData,
    Text,
    bindparam,
    cast,
    column,
    event,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column
from sqlalchemy.sql.selectable import TableValuedAlias

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

TenantKey = Annotated[
    UUID, mapped_column(ForeignKey("tenant.tenant_id", ondelete="CASCADE"), primary_key=True)
]
"""First column of every key: the tenant of the row."""

TenantPart = Annotated[UUID, mapped_column(primary_key=True)]
"""Tenant column of a row owned by a session: the session's key proves the tenant.

With a direct reference to the tenant, all intakes would lock the same tenant row at once.
"""

Timestamp = Annotated[datetime, mapped_column(DateTime(timezone=True))]
CreatedAt = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]


class Base(DeclarativeBase):
    """Base class of every table."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text,
        dict[str, Any]: JSONB,
        datetime: DateTime(timezone=True),
    }


SESSION_KEY = ["session.tenant_id", "session.session_id"]
"""Columns named by the foreign keys of a session's rows."""


def run_after_create(*statements: str) -> None:
    """Run statements after the tables are created: functions and triggers."""

    @event.listens_for(Base.metadata, "after_create")
    def run(_: Any, connection: Connection, **_more: Any) -> None:
        for statement in statements:
            connection.execute(text(statement))


def read_rows(stored: str | None) -> list[Sequence[Any]]:
    """Read the rows of a list aggregated by the database; no rows for null."""
    rows: list[Sequence[Any]] = orjson.loads(stored) if stored else []
    return rows


def read_time(stored: str | None) -> datetime | None:
    """Read a time as the database writes it into JSON."""
    return None if stored is None else datetime.fromisoformat(stored)


def json_of(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows for `json_rows` or `json_to_recordset`."""
    return orjson.dumps(rows).decode()


def json_rows(parameter: str, **columns: Any) -> TableValuedAlias:
    """Read a parameter with rows as a table.

    Args:
        parameter: Name of the parameter; its value comes from `json_of`.
        columns: The type of each column.
    """
    value = cast(bindparam(parameter, type_=Text), JSON)
    shape = [column(name, type_) for name, type_ in columns.items()]
    return func.json_to_recordset(value).table_valued(*shape, name=parameter).render_derived(with_types=True)
