"""API keys from the command line: create, list, rotate and revoke."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from afterturn.operating import (
    DATA_DIRECTORY,
    FIRST_TENANT,
    AsJson,
    known_tenant,
    operator_transaction,
    print_json,
    print_tables,
    transaction_at,
)
from context.types import JsonObject
from models.scope import Scope
from models.tenants.tenant import (
    SCOPES,
    ApiKey,
    adopt_key,
    create_key,
    ensure_tenant,
    list_keys,
    revoke_key,
    rotate_key,
)

app = typer.Typer(help="Make, list, rotate and revoke API keys.", no_args_is_help=True, add_completion=False)

Tenant = Annotated[str, typer.Option(help="Whose keys.")]
MOST_DAYS = 36_500

Days = Annotated[
    float | None,
    typer.Option(min=0, max=MOST_DAYS, help="After how many days it is refused; never if unsaid."),
]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]


def _describe(key: ApiKey) -> JsonObject:
    shown = ("key_id", "label", "scopes", "created_at", "revoked_at", "expires_at")
    return {name: getattr(key, name) for name in shown}


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)


def bootstrap_key(database_url: str) -> str:
    """Make a key of the first tenant, for the embedded stack.

    Args:
        database_url: A migrated database.

    Returns:
        The key; only its hash is stored, so the key cannot be shown again.
    """
    with transaction_at(database_url) as db:
        return create_key(Scope(db, ensure_tenant(db, FIRST_TENANT)), label="first")


@app.command()
def create(
    label: Annotated[str, typer.Argument(help="What the key is for.")],
    tenant: Tenant = FIRST_TENANT,
    scope: Annotated[list[str] | None, typer.Option(help="What it may do; all, if none is named.")] = None,
    days: Days = None,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Make a key and print it. A key is shown only once."""
    scopes = tuple(scope or SCOPES)
    if unknown := sorted(set(scopes) - set(SCOPES)):
        raise typer.BadParameter(f"{', '.join(unknown)}: a scope is one of {', '.join(SCOPES)}")
    with operator_transaction(data_dir) as db:
        made = create_key(Scope(db, ensure_tenant(db, tenant)), label=label, scopes=scopes, lasts=_days(days))
    print(made)


@app.command()
def adopt(
    label: Annotated[str, typer.Argument(help="What the key is for.")],
    file: Annotated[Path, typer.Option(help="The file with the key.")],
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Take over a key from a file, for a tenant that never had one: for the first start of containers."""
    try:
        key = file.read_text().strip()
        with operator_transaction(data_dir) as db:
            is_new = adopt_key(Scope(db, ensure_tenant(db, tenant)), key, label=label)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    print(f"{tenant}: the key of {file} is in force" if is_new else f"{tenant} has keys: nothing was changed")


@app.command("list")
def list_all(tenant: Tenant = FIRST_TENANT, json: AsJson = False, data_dir: DataDir = DATA_DIRECTORY) -> None:
    """List the keys of a tenant, without the secrets."""
    with operator_transaction(data_dir) as db:
        now = datetime.now(UTC)
        keys = list_keys(Scope(db, known_tenant(db, tenant)))
    if json:
        print_json([_describe(key) for key in keys])
        return
    table = Table("key", "scopes", "made", "state", "for")
    for key in keys:
        made = f"{key.created_at:%Y-%m-%d %H:%M}"
        table.add_row(key.key_id, ", ".join(key.scopes), made, key.state(now), key.label)
    print_tables(table)


@app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(help="The id of the old key, as `list` shows it.")],
    tenant: Tenant = FIRST_TENANT,
    grace_hours: Annotated[
        float, typer.Option(min=0, max=24 * MOST_DAYS, help="How long the old key still works.")
    ] = 24,
    days: Days = None,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Replace a key and print the new one; the old key works for a while longer."""
    with operator_transaction(data_dir) as db:
        made = rotate_key(
            Scope(db, known_tenant(db, tenant)), key_id, grace=timedelta(hours=grace_hours), lasts=_days(days)
        )
        if made is None:
            raise typer.BadParameter(f"{tenant} has no key {key_id} in force")
    print(made)
    print(f"{key_id} is refused in {grace_hours:g} h; `keys revoke {key_id}` ends it now", file=sys.stderr)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id, as `list` shows it.")],
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Refuse a key from now on."""
    with operator_transaction(data_dir) as db:
        if not revoke_key(Scope(db, known_tenant(db, tenant)), key_id):
            raise typer.BadParameter(f"{tenant} has no key {key_id} in force")
    print(f"revoked {key_id}")
