"""Rows that a statement gathered as JSON: several lists of rows come in one round trip."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson


def read_rows(stored: str | None) -> list[Sequence[Any]]:
    """Read the rows of a list aggregated by the database; no rows for null."""
    rows: list[Sequence[Any]] = orjson.loads(stored) if stored else []
    return rows


def read_time(stored: str | None) -> datetime | None:
    """Read a time as the database writes it into JSON."""
    return None if stored is None else datetime.fromisoformat(stored)
