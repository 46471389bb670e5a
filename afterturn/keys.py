"""API keys from the command line: make one, list them, revoke one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError

from afterturn.target import DATA_DIRECTORY, use_running_stack
from models.session import Transaction
from models.settings import database_settings
from models.tenant import SCOPES, create_key, ensure_tenant, find_tenant, list_keys, revoke_key

FIRST_TENANT = "default"

app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True, add_completion=False)

Tenant = Annotated[str, typer.Option(help="Whose keys.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]


@contextmanager
def _transaction(database_url: str) -> Iterator[Transaction]:
    engine = create_engine(database_url)
    try:
        with engine.begin() as db:
            yield db
    finally:
        engine.dispose()


@contextmanager
def _database(data_dir: Path) -> Iterator[Transaction]:
    """The database of the environment, or of the stack that runs in a directory."""
    use_running_stack(data_dir)
    try:
        with _transaction(database_settings().database_url) as db:
            yield db
    except DBAPIError as error:
        reason = str(error.orig).splitlines()[0]
        print(f"keys: {reason}", file=sys.stderr)
        print("Run `make up` first, or set AFTERTURN_DATABASE_URL to a migrated database.", file=sys.stderr)
        raise typer.Exit(1) from None


def bootstrap_key(database_url: str) -> str:
    """Make a key of the first tenant, for whoever runs the embedded stack.

    Args:
        database_url: A migrated database.

    Returns:
        The key; only its hash is stored, so it can't be shown again.
    """
    with _transaction(database_url) as db:
        return create_key(db, ensure_tenant(db, FIRST_TENANT), label="first")


def _known(db: Transaction, tenant: str) -> UUID:
    found = find_tenant(db, tenant)
    if found is None:
        raise typer.BadParameter(f"there is no tenant {tenant!r}; its first key makes it")
    return found


@app.command()
def create(
    label: Annotated[str, typer.Argument(help="What the key is for.")],
    tenant: Tenant = FIRST_TENANT,
    scope: Annotated[list[str] | None, typer.Option(help="What it may do; all, if none is named.")] = None,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Make a key and print it. It is shown this once only."""
    scopes = tuple(scope or SCOPES)
    if unknown := sorted(set(scopes) - set(SCOPES)):
        raise typer.BadParameter(f"{', '.join(unknown)}: a scope is one of {', '.join(SCOPES)}")
    with _database(data_dir) as db:
        print(create_key(db, ensure_tenant(db, tenant), label=label, scopes=scopes))


@app.command("list")
def list_all(tenant: Tenant = FIRST_TENANT, data_dir: DataDir = DATA_DIRECTORY) -> None:
    """List the keys of a tenant, never their secrets."""
    with _database(data_dir) as db:
        for key in list_keys(db, _known(db, tenant)):
            state = f"revoked {key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else "in force"
            print(
                f"{key.key_id}  {','.join(key.scopes)}  {key.created_at:%Y-%m-%d %H:%M}  {state}  {key.label}"
            )


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id, as `list` shows it.")],
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Refuse a key from now on."""
    with _database(data_dir) as db:
        if not revoke_key(db, _known(db, tenant), key_id):
            raise typer.BadParameter(f"{tenant} has no key {key_id} in force")
    print(f"revoked {key_id}")
