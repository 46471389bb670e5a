"""Shared parts of commands: target, database and tenant; tables for people and JSON for scripts."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from uuid import UUID

import orjson
import typer
from rich.box import MINIMAL, SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import DBAPIError

from afterturn.stack.home import ADDRESSES
from context.text.cut import printable
from models.database import Transaction, make_engine
from models.database_settings import database_settings
from models.tenants.tenant import find_tenant

DATA_DIRECTORY = Path(".afterturn")
"""Default data directory of `afterturn up`."""


class NoTargetError(Exception):
    """The API is unknown; the message explains how to get one."""


@dataclass(frozen=True)
class ApiTarget:
    """An API with a key."""

    base_url: str
    api_key: str


def find_target(base_url: str | None, api_key: str | None, directory: Path = DATA_DIRECTORY) -> ApiTarget:
    """Find the API: from the options, then the environment, then the stack of a data directory.

    Args:
        base_url: The API's address, if given.
        api_key: A key for the API, if given.
        directory: The stack's data directory.

    Raises:
        NoTargetError: The address or the key is missing.
    """
    url = base_url or os.environ.get("AFTERTURN_BASE_URL") or _stack_url(directory)
    key = api_key or os.environ.get("AFTERTURN_API_KEY") or _stack_key(directory)
    if url and key:
        return ApiTarget(url.rstrip("/"), key)
    missing = "address" if not url else "key"
    raise NoTargetError(
        f"no API {missing}: run `make up` first (it writes {directory}/), "
        "or give --base-url and --api-key, or set AFTERTURN_BASE_URL and AFTERTURN_API_KEY"
    )


def use_running_stack(directory: Path) -> bool:
    """Use the servers of the stack running in a directory, unless the environment names a database.

    Args:
        directory: The stack's data directory.

    Returns:
        True if the stack's servers are used from now on.
    """
    file = directory / ADDRESSES
    if "AFTERTURN_DATABASE_URL" in os.environ or not file.exists():
        return False
    addresses = json.loads(file.read_text())
    os.environ["AFTERTURN_DATABASE_URL"] = addresses["database_url"]
    os.environ["AFTERTURN_BROKER_URL"] = addresses["broker_url"]
    return True


def _stack_url(directory: Path) -> str | None:
    try:
        port = json.loads((directory / "stack.json").read_text())["ports"]["api"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return f"http://127.0.0.1:{port}"


def _stack_key(directory: Path) -> str | None:
    try:
        return (directory / "api-key").read_text().strip() or None
    except OSError:
        return None


FIRST_TENANT = "default"

NO_SUCH_DATABASE = {None, "42P01"}
"""Postgres error codes of an unreachable database, or a missing table."""

ADVICE = "Run `make up` first, or set AFTERTURN_DATABASE_URL to a migrated database."


@contextmanager
def transaction_at(database_url: str) -> Iterator[Transaction]:
    """Open a transaction on a database, committed at the end; the connection is closed completely.

    Connecting and waiting for rows time out soon, as in every process. Statements inside may take long.
    """
    patient = {"statement_timeout_ms": 0, "idle_in_transaction_timeout_ms": 0}
    engine = make_engine(database_settings().model_copy(update={"database_url": database_url, **patient}))
    try:
        with engine.begin() as db:
            yield db
    finally:
        engine.dispose()


@contextmanager
def operator_transaction(data_dir: Path) -> Iterator[Transaction]:
    """Open a transaction on the environment's database, or on the stack running in a directory.

    Args:
        data_dir: Directory of a possible stack of `afterturn up`.

    Raises:
        typer.Exit: The database is missing; printed in a line.
    """
    use_running_stack(data_dir)
    try:
        with transaction_at(database_settings().database_url) as db:
            yield db
    except DBAPIError as error:
        print(f"afterturn: {str(error.orig).splitlines()[0]}", file=sys.stderr)
        if getattr(error.orig, "sqlstate", None) in NO_SUCH_DATABASE:
            print(ADVICE, file=sys.stderr)
        raise typer.Exit(1) from None


def known_tenant(db: Transaction, name: str) -> UUID:
    """Find a tenant by name.

    Raises:
        typer.BadParameter: The tenant does not exist.
    """
    found = find_tenant(db, name)
    if found is None:
        raise typer.BadParameter(f"there is no tenant {name!r}; its first key makes it")
    return found


AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="As JSON.")]
"""The option of every command that answers scripts too."""


def print_json(answer: Any) -> None:
    """Print an answer as JSON; sums of money become numbers, and times ISO 8601.

    Args:
        answer: Values, data classes and lists of them.
    """
    print(orjson.dumps(answer, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def print_tables(*tables: Table) -> None:
    """Print tables with every cell complete: a date or a name must not be cut off.

    Args:
        tables: The tables. In a pipe the width is unlimited. On a narrow screen the lines between cells are
            dropped, and long cells are wrapped.
    """
    console = _PlainConsole()
    for table in tables:
        table.box, table.show_edge, table.pad_edge = MINIMAL, False, False
        table.header_style, table.title_justify = "bold", "left"
        for column in table.columns:
            column.overflow = "fold"
        wanted = _width(console, table)
        if not console.is_terminal:
            console.width = max(console.width, wanted)
        elif wanted > console.width:
            table.box, table.padding = SIMPLE, (0, 1, 0, 0)
        console.print(table)


class _PlainConsole(Console):
    """A console that shows every cell letter by letter: names come from clients, and are no orders."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Read a text without markup, and without control characters but line breaks."""
        plain = "\n".join(map(printable, text.split("\n")))
        return super().render_str(plain, **{**options, "emoji": False, "markup": False})


def _width(console: Console, table: Table) -> int:
    roomy = console.options.update(max_width=10_000)
    return Measurement.get(console, roomy, table).maximum
