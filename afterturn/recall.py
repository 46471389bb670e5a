"""Switching of recall across a user's sessions, for a tenant."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from afterturn.operating import FIRST_TENANT, known_tenant, operator_transaction
from afterturn.target import DATA_DIRECTORY
from models.database import Transaction
from models.recall.user import recalls_users, switch_users
from models.recall.user_switch import carry_out, count_found

app = typer.Typer(
    help="Let requests recall what a user said in other sessions.", add_completion=False, no_args_is_help=True
)

SESSIONS_AT_ONCE = 20
"""Sessions in a transaction; their turns wait meanwhile."""

TenantName = Annotated[str, typer.Option("--tenant", help="Whose sessions.")]
DataDirectory = Annotated[Path, typer.Option("--data-dir", help="Where a stack may run.")]


@app.command("on")
def switch_on(tenant: TenantName = FIRST_TENANT, data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Allow recall across sessions, and index stored text by user; after an interruption, start again."""
    _switch(tenant, data_dir, on=True)


@app.command("off")
def switch_off(tenant: TenantName = FIRST_TENANT, data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Stop recall across sessions, and forget the users of passages."""
    _switch(tenant, data_dir, on=False)


@app.command()
def status(tenant: TenantName = FIRST_TENANT, data_dir: DataDirectory = DATA_DIRECTORY) -> None:
    """Show whether recall across sessions is on, and the number of passages indexed by user."""
    with operator_transaction(data_dir) as db:
        _say(db, tenant, known_tenant(db, tenant))


def _switch(tenant: str, data_dir: Path, *, on: bool) -> None:
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
        switch_users(db, tenant_id, on=on)
    after: str | None = ""
    while after is not None:
        with operator_transaction(data_dir) as db:
            after = carry_out(db, tenant_id, on=on, after=after, most=SESSIONS_AT_ONCE)
    with operator_transaction(data_dir) as db:
        _say(db, tenant, tenant_id)


def _say(db: Transaction, tenant: str, tenant_id: UUID) -> None:
    state = "on" if recalls_users(db, tenant_id) else "off"
    print(
        f"{tenant}: recall across the sessions of a user is {state}; {count_found(db, tenant_id):,} passages"
    )
