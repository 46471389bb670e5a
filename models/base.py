"""The declarative base: names of constraints, and column types shared by every table."""

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from sqlalchemy import Connection, DateTime, ForeignKey, MetaData, Text, event, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

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
