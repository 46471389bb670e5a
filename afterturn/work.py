"""Work that does not get on: see why, and have it tried again once the cause is mended."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from afterturn.operating import FIRST_TENANT, known_tenant, operator_transaction
from afterturn.target import DATA_DIRECTORY
from models.clock import present
from models.operating import drop_dead, list_stuck, retry_now
from models.provider import list_gates, reopen

app = typer.Typer(
    help="Show work that was given up or waits; try it again, or drop it.",
    no_args_is_help=True,
    add_completion=False,
)

Tenant = Annotated[str, typer.Option(help="Whose work.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]


@app.command("list")
def list_all(tenant: Tenant = FIRST_TENANT, data_dir: DataDir = DATA_DIRECTORY) -> None:
    """Show models that are not asked at present, and work that was given up or waits, with the reasons."""
    with operator_transaction(data_dir) as db:
        for gate in list_gates(db, now=present(db)):
            until = f" until {gate.until:%Y-%m-%d %H:%M:%S}" if gate.until else ""
            print(f"model {gate.model}  {gate.state}{until}  failures {gate.failures}: {gate.reason}")
        for work in list_stuck(db, known_tenant(db, tenant)):
            counts = f"attempts {work.attempts}, crashes {work.crashes}"
            print(
                f"work {work.work_id}  {work.kind} {work.key}  {work.state}, due "
                f"{work.due_at:%Y-%m-%d %H:%M:%S}  {counts}: {work.last_error}"
            )


@app.command()
def retry(tenant: Tenant = FIRST_TENANT, data_dir: DataDir = DATA_DIRECTORY) -> None:
    """Ask every model again, and have all work of `list` done now; for after the cause was mended."""
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
        models = sum(reopen(db, gate.model) for gate in list_gates(db, now=present(db)))
        print(f"models asked again: {models}, work tried again: {retry_now(db, owner)}")


@app.command()
def drop(
    work_id: Annotated[int, typer.Argument(help="The number that `list` shows.")],
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """End work that was given up, for good; what asks for it later begins anew."""
    with operator_transaction(data_dir) as db:
        dropped = drop_dead(db, known_tenant(db, tenant), work_id)
    if dropped is None:
        print(f"afterturn: {tenant!r} has no dead work {work_id}; see `afterturn work list`", file=sys.stderr)
        raise typer.Exit(1)
    counts = f"attempts {dropped.attempts}, crashes {dropped.crashes}"
    print(f"dropped work {work_id}  {dropped.kind} {dropped.key}  {counts}: {dropped.last_error}")
