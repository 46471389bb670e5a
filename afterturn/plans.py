"""Plans as files: import the history of another system, export plans for analysis."""

import csv
import importlib
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, BinaryIO, NamedTuple, TextIO

import orjson
import typer

from afterturn.operating import (
    DATA_DIRECTORY,
    FIRST_TENANT,
    AsJson,
    known_tenant,
    operator_transaction,
    print_json,
)
from context.errors import InvalidInputError
from context.tool_plans.reported import COLUMNS, PlanRow, number_equals, read_cells, read_row, write_cells
from models.plans.imports import PAGE_PLANS, PlanFilter, export_plans, import_plans, prepare_plan
from models.scope import Scope

app = typer.Typer(
    help="Import and export plans with their outcomes and times.", no_args_is_help=True, add_completion=False
)


class PlanFileFormat(StrEnum):
    """Format of a file."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


File = Annotated[Path, typer.Argument(help="The file; `-` for standard input.")]
Out = Annotated[Path, typer.Option(help="The file; `-` for standard output.")]
FileFormat = Annotated[
    PlanFileFormat | None, typer.Option("--format", help="Else by the file's ending, or jsonl.")
]
Tenant = Annotated[str, typer.Option(help="Whose plans.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]

STANDARD = Path("-")
MOST_FAULTS_SHOWN = 20
MOST_CELL_CHARS = 10_000_000


class Line(NamedTuple):
    """A row of a file, or its fault, by the number of its first line, or of its row in a Parquet table."""

    number: int
    row: PlanRow | None
    fault: str = ""


@app.command("import")
def import_file(
    file: File,
    *,
    strict: Annotated[bool, typer.Option(help="Import nothing where any row is bad.")] = False,
    file_format: FileFormat = None,
    tenant: Tenant = FIRST_TENANT,
    json: AsJson = False,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Import plans from a file of rows; a bad row is named by its line, and the others go in.

    A row has `intent`, `tools` and `at`, and may have `outcome`, `catalog`, `user_id` and `id`. A row without
    an id is known by its content: a file imported twice doubles nothing. The exit code is 1 with bad rows.
    """
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
    lines = list(_read(file, file_format or _format_of(file)))
    faults = [line for line in lines if line.row is None]
    for line in faults[:MOST_FAULTS_SHOWN]:
        print(f"line {line.number}: {line.fault}", file=sys.stderr)
    if len(faults) > MOST_FAULTS_SHOWN:
        print(f"and {len(faults) - MOST_FAULTS_SHOWN:,} more bad rows", file=sys.stderr)
    rows = [] if strict and faults else [line.row for line in lines if line.row is not None]
    numbered = sorted(zip(rows, number_equals(rows), strict=True), key=lambda one: one[0].at)
    imported = 0
    for start in range(0, len(numbered), PAGE_PLANS):
        plans = [prepare_plan(row, number) for row, number in numbered[start : start + PAGE_PLANS]]
        with Scope.write(owner) as scope:
            imported += import_plans(scope, plans)
    told = {"imported": imported, "known before": len(rows) - imported, "bad rows": len(faults)}
    if json:
        named = [{"line": line.number, "fault": line.fault} for line in faults]
        print_json({**{name.replace(" ", "_"): number for name, number in told.items()}, "faults": named})
    else:
        print(", ".join(f"{name}: {number:,}" for name, number in told.items()))
    raise typer.Exit(1 if faults else 0)


@app.command("export")
def export_file(
    *,
    out: Out = STANDARD,
    catalog: Annotated[str | None, typer.Option(help="Only plans from this catalog.")] = None,
    user_id: Annotated[str | None, typer.Option(help="Only plans of this user.")] = None,
    file_format: FileFormat = None,
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Export plans with steps as rows, newest first, in the form that `plans import` reads."""
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
    chosen = file_format or _format_of(out)
    with Scope.read(owner) as scope:
        rows = export_plans(scope, PlanFilter(catalog, user_id))
        try:
            count = _write_file(rows, out, chosen)
        except OSError as error:
            raise typer.BadParameter(f"{out}: {error.strerror}") from None
    if out == STANDARD:
        return
    print(f"{out}: exported plans: {count:,}")


def _format_of(file: Path) -> PlanFileFormat:
    ending = file.suffix.lower().removeprefix(".")
    return PlanFileFormat(ending) if ending in set(PlanFileFormat) else PlanFileFormat.JSONL


def _write_file(rows: Iterator[PlanRow], out: Path, chosen: PlanFileFormat) -> int:
    if chosen is PlanFileFormat.PARQUET:
        write_table: Callable[[Iterator[PlanRow], BinaryIO], int] = _tables().write_table
        if out == STANDARD:
            return write_table(rows, sys.stdout.buffer)
        with out.open("wb") as target:
            return write_table(rows, target)
    if out == STANDARD:
        return _write(rows, sys.stdout, chosen)
    with out.open("w", encoding="utf-8", newline="") as target:
        return _write(rows, target, chosen)


def _tables() -> ModuleType:
    """Import what reads and writes Parquet.

    Raises:
        BadParameter: The environment lacks the library.
    """
    try:
        return importlib.import_module("afterturn.plan_tables")
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise typer.BadParameter(
            "Parquet needs pyarrow, of the dependency group `report`: install pyarrow, or use jsonl or csv"
        ) from None


def _write(rows: Iterator[PlanRow], target: TextIO, chosen: PlanFileFormat) -> int:
    table = csv.writer(target, lineterminator="\n")
    if chosen is PlanFileFormat.CSV:
        table.writerow(COLUMNS)
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 (the last number is the count)
        if chosen is PlanFileFormat.CSV:
            table.writerow(write_cells(row))
        else:
            target.write(orjson.dumps(row.as_json()).decode() + "\n")
    return count


def _read(file: Path, chosen: PlanFileFormat) -> Iterator[Line]:
    now = datetime.now(UTC)
    try:
        if chosen is PlanFileFormat.PARQUET:
            with BytesIO(sys.stdin.buffer.read()) if file == STANDARD else file.open("rb") as table:
                yield from _table(file, table, now)
            return
        if file == STANDARD:
            sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape", newline="")  # type: ignore[union-attr]
            yield from _lines(sys.stdin, chosen, now)
            return
        with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as source:
            yield from _lines(source, chosen, now)
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from None


def _lines(source: TextIO, chosen: PlanFileFormat, now: datetime) -> Iterator[Line]:
    if chosen is PlanFileFormat.CSV:
        yield from _cells(source, now)
        return
    for number, line in enumerate(source, 1):
        if line.strip():
            yield _line(number, lambda line=line: read_row(_object(line), now=now))


def _object(line: str) -> Any:
    try:
        return orjson.loads(line.encode("utf-8", "surrogateescape"))
    except orjson.JSONDecodeError:
        raise InvalidInputError("row", "is no JSON in UTF-8") from None


def _cells(source: TextIO, now: datetime) -> Iterator[Line]:
    csv.field_size_limit(MOST_CELL_CHARS)
    table = csv.reader(source)
    names = next(table, [])
    if unknown := [name for name in names if name not in COLUMNS]:
        raise typer.BadParameter(
            f"line 1: {len(unknown)} unknown columns, the first {unknown[0]!r}; known: {', '.join(COLUMNS)}"
        )
    while True:
        number = table.line_num + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(number, None, f"row: {error}")
            continue
        if cells:
            yield _line(number, lambda cells=cells: read_row(_values(names, cells), now=now))


def _table(file: Path, source: BinaryIO, now: datetime) -> Iterator[Line]:
    tables = _tables()
    try:
        for number, cells in tables.read_table(source):
            yield _line(number, lambda cells=cells: read_row(tables.values_of(cells), now=now))
    except tables.TableError as error:
        raise typer.BadParameter(f"{file}: {error}") from None


def _values(names: list[str], cells: list[str]) -> dict[str, Any]:
    if len(cells) != len(names):
        raise InvalidInputError("row", f"has {len(cells)} cells for {len(names)} columns")
    if any("\udc80" <= sign <= "\udcff" for cell in cells for sign in cell):
        raise InvalidInputError("row", "is not UTF-8")
    return read_cells(dict(zip(names, cells, strict=True)))


def _line(number: int, read: Any) -> Line:
    try:
        return Line(number, read())
    except InvalidInputError as error:
        return Line(number, None, error.message)
