"""Statements run by the driver alone: each reads few rows, and the layers above would cost more than that."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import adapters
from sqlalchemy import Dialect, Select
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import DBAPIError

from models.database import Transaction

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)(?!:)")
_WRITTEN = re.compile(r"%\(([^)]+)\)s")

Reader = Callable[[Any], Any]
"""Reads a value of the driver as the column's type does."""


class DriverStatement:
    """A statement with named parameters, whose order is found once."""

    def __init__(
        self,
        sql: str,
        own: Mapping[str, Any] | None = None,
        readers: Sequence[tuple[int, Reader]] = (),
        *,
        parameter: re.Pattern[str] = _PARAMETER,
    ) -> None:
        """Take the text of the statement.

        Args:
            sql: The text; a parameter is written as `:name`.
            own: Values that are the same in every run, by parameter.
            readers: Readers of columns whose values differ from the driver's, by place.
            parameter: Finds the parameters in the text.
        """
        self._places: dict[str, int] = {}
        self._own = dict(own or {})
        self._readers = readers
        numbered = parameter.sub(
            lambda found: f"${self._places.setdefault(found[1], len(self._places) + 1)}", sql
        )
        self._sql = numbered.encode()

    @classmethod
    def of(cls, query: Select[Any]) -> "DriverStatement":
        """Write a query once, with the values of its lists and constants."""
        dialect: Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]
        written = query.compile(dialect=dialect)
        asked = {name: None for name, one in written.binds.items() if one.required}
        state = written.construct_expanded_state(asked)
        own = {name: value for name, value in state.parameters.items() if name not in asked}
        is_float = adapters.types["float8"].oid  # the one type of numbers that the queries select
        readers = [
            column.type.dialect_impl(dialect).result_processor(dialect, is_float)
            for column in query.selected_columns
        ]
        return cls(
            state.statement.replace("%%", "%"),
            own,
            [(place, reader) for place, reader in enumerate(readers) if reader],
            parameter=_WRITTEN,
        )

    def rows(self, db: Transaction, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run the statement, and return all rows; none of a statement that returns no rows.

        Raises:
            DBAPIError: The error of the driver, as of any other statement.
        """
        driver: Any = db.connection.driver_connection
        cursor = psycopg.RawCursor(driver)
        asked = {**self._own, **parameters}
        values = [asked[name] for name in self._places]
        is_many = False
        for listener in db.dispatch.before_cursor_execute:
            listener(db, cursor, self._sql.decode(), values, None, is_many)
        try:
            cursor.execute(self._sql, values)
            rows = cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []
        except psycopg.Error as error:
            if driver.closed:
                db.invalidate(error)
            raise DBAPIError.instance(
                "a statement of the driver",
                None,
                error,
                psycopg.Error,
                hide_parameters=True,
                connection_invalidated=driver.closed,
                dialect=db.dialect,
            ) from error
        return [self._read(row) for row in rows] if self._readers else rows

    def _read(self, row: Sequence[Any]) -> tuple[Any, ...]:
        cells = list(row)
        for place, reader in self._readers:
            cells[place] = reader(cells[place])
        return tuple(cells)
