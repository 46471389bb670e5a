"""Rows as JSON, from and to the database.

A statement gathers several lists of rows for one round trip. Rows go in as one parameter, since the driver
writes arrays for PostgreSQL value by value.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import JSON, Text, bindparam, cast, column, func
from sqlalchemy.sql.selectable import TableValuedAlias


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
