"""Plans as Parquet tables; `pyarrow` is of the group `report`, and in no image."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from context.tool_plans.reported import COLUMNS, PlanRow, read_cells

ROWS_AT_ONCE = 1_000
"""Rows in memory at once."""

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("user_id", pa.string()),
        ("catalog", pa.string()),
        ("intent", pa.string()),
        ("tools", pa.list_(pa.string())),
        ("outcome", pa.list_(pa.string())),
    ]
)


class TableError(Exception):
    """A file is no readable Parquet table of plans; the message names the reason, and quotes no row."""


def read_table(source: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read rows as values for `read_row`, numbered from 1.

    A list may be a column of lists, or of texts in the form of a CSV cell. A time may be a timestamp, a date
    or a text; a timestamp without a zone is in UTC.

    Raises:
        TableError: The file is no Parquet table, or has an unknown column.
        InvalidInputError: A text begins as a list in JSON and is none.
    """
    try:
        file = parquet.ParquetFile(source)
        unknown = [name for name in file.schema_arrow.names if name not in COLUMNS]
        if unknown:
            raise TableError(
                f"{len(unknown)} unknown columns, the first {unknown[0]!r}; known: {', '.join(COLUMNS)}"
            )
        number = 0
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            for values in _in_microseconds(batch).to_pylist():
                number += 1
                yield number, values
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"is no readable Parquet table ({type(error).__name__})") from None


def values_of(values: dict[str, Any]) -> dict[str, Any]:
    """Turn the cells of a Parquet row into values for `read_row`: an empty cell is no value.

    Raises:
        InvalidInputError: A text begins as a list in JSON and is none.
    """
    told = {name: value for name, value in values.items() if value is not None}
    if isinstance(told.get("at"), date | datetime):
        told["at"] = told["at"].isoformat()
    texts = {name: value for name, value in told.items() if isinstance(value, str)}
    return {**{name: value for name, value in told.items() if name not in texts}, **read_cells(texts)}


def write_table(rows: Iterable[PlanRow], target: BinaryIO) -> int:
    """Write rows as a Parquet table of `SCHEMA`; an outcome for each tool. Returns the number of rows."""
    count = 0
    with parquet.ParquetWriter(target, SCHEMA) as writer:
        left = iter(rows)
        while part := list(islice(left, ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(list(map(_cells, part)), schema=SCHEMA))
            count += len(part)
    return count


def _cells(row: PlanRow) -> dict[str, Any]:
    return {**row.as_json(), "at": row.at, "tools": list(row.tools), "outcome": list(row.outcomes)}


def _in_microseconds(batch: Any) -> Any:
    """Round times to microseconds, the finest unit of Python."""
    place = batch.schema.get_field_index("at")
    if place < 0 or not pa.types.is_timestamp(batch.schema.field(place).type):
        return batch
    zone = batch.schema.field(place).type.tz
    times = batch.column(place).cast(pa.timestamp("us", tz=zone), safe=False)
    return batch.set_column(place, "at", times)
