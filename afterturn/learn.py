"""Learning from the command line: learn now, and report the results."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from afterturn.operating import FIRST_TENANT, known_tenant, operator_transaction
from afterturn.target import DATA_DIRECTORY
from models.database import transaction
from models.due_work.queue import WorkKind, enqueue, find_work
from models.learning.night_settings import learning_settings
from models.learning.prior_set import SetKind, list_sets
from models.telemetry.counters import flushing
from workers.jobs.learn.night import CATALOG, NIGHT, ask_for_catalogs, learn
from workers.jobs.lifecycle import NOT_DUE, run_work
from workers.settings import worker_settings

app = typer.Typer(help="Learn from plans now; show what learning brought.", add_completion=False)

Tenant = Annotated[str, typer.Option(help="Whose plans.")]
OneCatalog = Annotated[str | None, typer.Option(help="Only this catalog's plans.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]
Out = Annotated[Path, typer.Option(help="The picture: its ending says whether PNG or SVG.")]

MOST_SETS = 1_000


@app.callback(invoke_without_command=True)
def learn_now(
    context: typer.Context,
    tenant: Tenant = FIRST_TENANT,
    catalog: OneCatalog = None,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Learn from plans with new outcomes now, instead of at night.

    As at night: count new outcomes, judge the resulting set on the newest plans, and activate only a better
    set. Safe beside the nightly run: only one of the two does the work.
    """
    if context.invoked_subcommand is not None:
        return
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
    with flushing():
        if catalog is not None:
            _print(catalog, _do(owner, CATALOG + catalog))
            return
        _print("habits", _do(owner, NIGHT))
        with transaction() as db:
            names = ask_for_catalogs(db, owner)
        for name in names:
            _print(name or "(no catalog)", _do(owner, CATALOG + name))


def _do(tenant_id: UUID, key: str) -> str:
    """Queue a piece of learning and run it here, unless a worker already runs it."""
    with transaction() as db:
        enqueue(db, tenant_id, WorkKind.LEARN, key)
        found = find_work(db, tenant_id, WorkKind.LEARN, key)
    if found is None:  # pragma: no cover - it was just asked for
        return NOT_DUE
    settings = learning_settings()
    outcome = run_work(
        found.work_id, {WorkKind.LEARN: lambda held: learn(held, settings=settings)}, worker_settings()
    )
    return "a worker is at it, or it waits for a retry" if outcome == NOT_DUE else outcome


def _print(what: str, outcome: str) -> None:
    print(f"{what}: {outcome}")


@app.command()
def report(
    out: Out = Path("learning.png"),
    tenant: Tenant = FIRST_TENANT,
    catalog: OneCatalog = None,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Draw the results of learning: gain over words alone by size of history, and drift per night."""
    if out.suffix not in {".png", ".svg"}:
        raise typer.BadParameter(f"{out}: the picture ends in .png or .svg")
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
        sets = list_sets(db, owner, kind=SetKind.RANKING, name=catalog, most=MOST_SETS)
    judged = [one for one in sets if one.evaluation.get("new", {}).get("plans")]
    if not judged:
        print(
            "nothing was judged yet: `afterturn learn` makes the first set, once enough plans have outcomes"
        )
        raise typer.Exit(1)
    from afterturn.learning_picture import draw  # noqa: PLC0415 (matplotlib is slow to import)

    draw(judged, out)
    print(f"{out}: {len(judged)} sets of {len({one.name for one in judged})} catalogs")
