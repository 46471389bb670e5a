"""Stuck work: show the cause, and retry after a repair."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from afterturn.operating import DATA_DIRECTORY, AsJson, known_tenant, operator_transaction, print_json
from context.text.cut import one_line, printable
from models.database import Transaction, database_now
from models.due_work.operator import (
    RefusedSummary,
    count_stuck,
    drop_dead,
    list_refused,
    list_stuck,
    retry_now,
)
from models.due_work.queue import DueWork
from models.due_work.waiting import hasten_one
from models.providers.circuit_breaker import GateState, end_wait, list_gates, reopen
from models.tenants.tenant import name_tenants

app = typer.Typer(
    help="Show work that was given up or waits; try it again, or drop it.",
    no_args_is_help=True,
    add_completion=False,
)

MOST_LISTED = 200
SHOWN_CHARS = 300
"""Of the text of a refused summary."""

Tenant = Annotated[str | None, typer.Option(help="Whose work; everybody's where none is named.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]


@app.command("list")
def list_all(
    tenant: Tenant = None,
    most: Annotated[int, typer.Option(min=1, help="The most pieces of work to show.")] = MOST_LISTED,
    data_dir: DataDir = DATA_DIRECTORY,
    json: AsJson = False,
) -> None:
    """Show models held back at present, given-up or waiting work, and refused summaries."""
    with operator_transaction(data_dir) as db:
        owner = _owner(db, tenant)
        gates = list_gates(db, now=database_now(db))
        stuck = list_stuck(db, owner, most=most)
        refused = list_refused(db, owner, most=most)
        names = name_tenants(db, {work.tenant_id for work in stuck} | {one.tenant_id for one in refused})
        left = count_stuck(db, owner) - len(stuck)
    if json:
        listed = [_members(one, names[one.tenant_id]) for one in stuck]
        told = [{**asdict(one), "tenant": names[one.tenant_id]} for one in refused]
        print_json({"models": gates, "work": listed, "more_work": max(left, 0), "refused": told})
        return
    for gate in gates:
        word = "since" if gate.state is GateState.HALF_OPEN else "until"
        until = f" {word} {gate.until:%Y-%m-%d %H:%M:%S}" if gate.until else ""
        print(printable(f"model {gate.model}  {gate.state}{until}  failures {gate.failures}: {gate.reason}"))
    for work in stuck:
        due = f"{work.state}, due {work.due_at:%Y-%m-%d %H:%M:%S}"
        shown = f"work {work.work_id}  {work.kind} {work.key}  {due}"
        print(printable(f"{shown}  {_history(work, names[work.tenant_id])}"))
    if left > 0:
        print(f"and {left} more: see them with --most {len(stuck) + left}")
    for one in refused:
        print(printable(_refusal(one, names[one.tenant_id])))
    if not gates and not stuck and not refused:
        print("every model is asked, and no work was given up or waits after a failure")


def _members(work: DueWork, tenant: str) -> dict[str, Any]:
    names = ("work_id", "kind", "key", "state", "due_at", "attempts", "crashes", "last_error")
    return {"tenant": tenant, **{name: getattr(work, name) for name in names}}


def _owner(db: Transaction, tenant: str | None) -> UUID | None:
    return None if tenant is None else known_tenant(db, tenant)


def _refusal(refused: RefusedSummary, tenant: str) -> str:
    said = one_line(refused.text, SHOWN_CHARS) or "nothing"
    when = f"{refused.created_at:%Y-%m-%d %H:%M:%S}"
    which = f"summary {refused.version} of {refused.session_id} of {tenant}"
    return f"{which} by {refused.model}, refused {when}: {refused.reason}; it said: {said}"


def _history(work: DueWork, tenant: str) -> str:
    return f"of {tenant}, attempts {work.attempts}, crashes {work.crashes}: {work.last_error}"


@app.command()
def retry(tenant: Tenant = None, data_dir: DataDir = DATA_DIRECTORY) -> None:
    """Ask every model again, and have all work of `list` done now; for after the cause was mended."""
    with operator_transaction(data_dir) as db:
        owner = _owner(db, tenant)
        models = sum(reopen(db, gate.model) for gate in list_gates(db, now=database_now(db)))
        print(f"models asked again: {models}, work tried again: {retry_now(db, owner)}")


@app.command()
def ask(
    model: Annotated[str, typer.Argument(help="The model, as `list` shows it.")],
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Call a model again now, after repairing its key or account; waiting work follows by itself."""
    with operator_transaction(data_dir) as db:
        waited = end_wait(db, model)
        is_tried = waited and hasten_one(db, model)
        known = [gate.model for gate in list_gates(db, now=database_now(db)) if gate.until]
    if not waited:
        which = f"held back now: {', '.join(known)}" if known else "no model is"
        print(f"afterturn: {model} is not held back; {which}", file=sys.stderr)
        raise typer.Exit(1)
    if is_tried:
        print(f"{model}: one piece of work asks it now; when it answers, all others that wait for it follow")
    else:
        print(f"{model}: no work waits for it, the next call asks it")


@app.command()
def drop(
    work_id: Annotated[int, typer.Argument(help="The number that `list` shows.")],
    tenant: Tenant = None,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """End given-up work for good; a later request starts again."""
    with operator_transaction(data_dir) as db:
        dropped = drop_dead(db, _owner(db, tenant), work_id)
        names = name_tenants(db, {dropped.tenant_id}) if dropped else {}
    if dropped is None:
        whose = "there is" if tenant is None else f"{tenant!r} has"
        print(f"afterturn: {whose} no dead work {work_id}; see `afterturn work list`", file=sys.stderr)
        raise typer.Exit(1)
    history = _history(dropped, names[dropped.tenant_id])
    print(f"dropped work {work_id}  {dropped.kind} {dropped.key}  {history}")
