"""API keys from the command line: make one, list them, revoke one."""

from pathlib import Path
from typing import Annotated

import typer

from afterturn.operating import FIRST_TENANT, known_tenant, operator_transaction, transaction_at
from afterturn.target import DATA_DIRECTORY
from models.tenant import SCOPES, create_key, ensure_tenant, list_keys, revoke_key

app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True, add_completion=False)

Tenant = Annotated[str, typer.Option(help="Whose keys.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]


def bootstrap_key(database_url: str) -> str:
    """Make a key of the first tenant, for whoever runs the embedded stack.

    Args:
        database_url: A migrated database.

    Returns:
        The key; only its hash is stored, so it can't be shown again.
    """
    with transaction_at(database_url) as db:
        return create_key(db, ensure_tenant(db, FIRST_TENANT), label="first")


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
    with operator_transaction(data_dir) as db:
        print(create_key(db, ensure_tenant(db, tenant), label=label, scopes=scopes))


@app.command("list")
def list_all(tenant: Tenant = FIRST_TENANT, data_dir: DataDir = DATA_DIRECTORY) -> None:
    """List the keys of a tenant, never their secrets."""
    with operator_transaction(data_dir) as db:
        for key in list_keys(db, known_tenant(db, tenant)):
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
    with operator_transaction(data_dir) as db:
        if not revoke_key(db, known_tenant(db, tenant), key_id):
            raise typer.BadParameter(f"{tenant} has no key {key_id} in force")
    print(f"revoked {key_id}")
