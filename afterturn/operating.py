"""What commands of an operator share: a database that is found, and a tenant that is known."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import typer
from sqlalchemy.exc import DBAPIError

from afterturn.target import use_running_stack
from models.session import Transaction, make_engine
from models.settings import database_settings
from models.tenant import find_tenant

FIRST_TENANT = "default"

NO_SUCH_DATABASE = {None, "42P01"}
"""What Postgres calls an error where it could not be reached, or has no table of ours."""

ADVICE = "Run `make up` first, or set AFTERTURN_DATABASE_URL to a migrated database."


@contextmanager
def transaction_at(database_url: str) -> Iterator[Transaction]:
    """A transaction on a database, committed at the end; nothing of the connection stays.

    It gives up soon where nothing answers or somebody holds a row, as every process does. What it does once
    it has begun may take long.
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
    """A transaction on the database of the environment, or of the stack that runs in a directory.

    Args:
        data_dir: Where a stack of `afterturn up` may run.

    Raises:
        typer.Exit: There is no such database, which is said in a line.
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
    """The tenant of this name.

    Raises:
        typer.BadParameter: There is none.
    """
    found = find_tenant(db, name)
    if found is None:
        raise typer.BadParameter(f"there is no tenant {name!r}; its first key makes it")
    return found
