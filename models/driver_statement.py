"""Statements run by the driver alone: each reads few rows, and the layers above would cost more than that."""

import re
from collections.abc import Mapping
from typing import Any

import psycopg
from sqlalchemy.exc import DBAPIError

from models.database import Transaction

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)(?!:)")


class DriverStatement:
    """A statement with `:name` parameters, whose order is found once."""

    def __init__(self, sql: str) -> None:
        """Take the text of the statement."""
        self._places: dict[str, int] = {}
        numbered = _PARAMETER.sub(
            lambda found: f"${self._places.setdefault(found[1], len(self._places) + 1)}", sql
        )
        self._sql = numbered.encode()

    def rows(self, db: Transaction, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run the statement, and return all rows.

        Raises:
            DBAPIError: The error of the driver, as of any other statement.
        """
        driver: Any = db.connection.driver_connection
        cursor = psycopg.RawCursor(driver)
        values = [parameters[name] for name in self._places]
        is_many = False
        for listener in db.dispatch.before_cursor_execute:
            listener(db, cursor, self._sql.decode(), values, None, is_many)
        try:
            return cursor.execute(self._sql, values).fetchall()
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
