"""The declarative base: names of constraints, and types that every table shares."""

from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from sqlalchemy import DateTime, ForeignKey, MetaData, Text, func
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
"""The first column of every key: whose row it is."""

TenantPart = Annotated[UUID, mapped_column(primary_key=True)]
"""The same in a row that belongs to a session: its session's key proves the tenant.

A reference to the tenant as well would have every intake at once lock that one row of it.
"""

Timestamp = Annotated[datetime, mapped_column(DateTime(timezone=True))]
CreatedAt = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]


class Base(DeclarativeBase):
    """What every table descends from."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text,
        dict[str, Any]: JSONB,
        datetime: DateTime(timezone=True),
    }
