"""Shared parts of operator commands: finding the database and the tenant."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import typer
from sqlalchemy.exc import DBAPIError

from afterturn.target import use_running_stack
from models.database import Transaction, make_engine
from models.database_settings import database_settings
from models.tenants.tenant import find_tenant

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
