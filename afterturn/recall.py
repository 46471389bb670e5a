"""Switching of recall across a user's sessions, for a tenant."""

from pathlib import Path
from typing import Annotated

import typer

from afterturn.operating import (
    DATA_DIRECTORY,
    FIRST_TENANT,
    AsJson,
    known_tenant,
    operator_transaction,
    print_json,
)
from models.recall.user import find_user_recall, switch_user_recall
from models.scope import Scope

app = typer.Typer(
    help="Let requests recall what a user said in other sessions.", add_completion=False, no_args_is_help=True
)

TenantName = Annotated[str, typer.Option("--tenant", help="Whose sessions.")]
DataDirectory = Annotated[Path, typer.Option("--data-dir", help="Where a stack may run.")]


@app.command("on")
def switch_on(tenant: TenantName = FIRST_TENANT, data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Allow recall across sessions; workers then key the stored sessions by user."""
    _switch(tenant, data_dir, on=True)


@app.command("off")
def switch_off(tenant: TenantName = FIRST_TENANT, data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Stop recall across sessions at once; workers then forget the users of passages."""
    _switch(tenant, data_dir, on=False)


@app.command()
def status(
    tenant: TenantName = FIRST_TENANT, json: AsJson = False, data_dir: DataDirectory = DATA_DIRECTORY
) -> None:
    """Show whether recall across sessions is on, and whether the stored sessions follow the switch."""
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
        if json:
            print_json(find_user_recall(Scope(db, tenant_id)))
        else:
            _say(Scope(db, tenant_id), tenant)


def _switch(tenant: str, data_dir: Path, *, on: bool) -> None:
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
        switch_user_recall(Scope(db, tenant_id), on=on)
        _say(Scope(db, tenant_id), tenant)


def _say(scope: Scope, tenant: str) -> None:
    found = find_user_recall(scope)
    state = "on" if found.enabled else "off"
    if found.given_up:
        behind = f"work of {found.given_up:,} sessions was given up (`afterturn work list`)"
    elif found.is_settled:
        behind = "all stored sessions follow"
    else:
        behind = f"workers go through the stored sessions, {found.sessions_waiting:,} known to wait"
    print(f"{tenant}: recall across the sessions of a user is {state}; {behind}")
