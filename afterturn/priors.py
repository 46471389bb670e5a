"""Sets of priors from the command line: list, activate, roll back."""

import os
from dataclasses import asdict
from getpass import getuser
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from afterturn.learning_figures import describe_canary, share_of, show_canary, show_share
from afterturn.operating import (
    DATA_DIRECTORY,
    FIRST_TENANT,
    AsJson,
    known_tenant,
    operator_transaction,
    print_json,
    print_tables,
)
from context.text.cut import one_line, printable
from models.learning.canary import CanaryRefusedError, start_canary, stop_canary
from models.learning.night_settings import learning_settings
from models.learning.prior_set import SetKind, SetPlace, activate_set, roll_back
from models.learning.set_listing import SetFacts, list_sets

app = typer.Typer(
    help="List sets of priors, put one in force, go back.", no_args_is_help=True, add_completion=False
)

Tenant = Annotated[str, typer.Option(help="Whose sets.")]
Catalog = Annotated[str, typer.Option(help="The catalog; empty for plans that name none.")]
Kind = Annotated[SetKind, typer.Option(help="What the sets are about.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]

By = Annotated[str, typer.Option(help="Who does it, for the list; by default the user of this machine.")]

BY_HAND = "put in force by hand"
STOPPED = "canary stopped by hand"
TAKEN_BACK = "taken out of force by hand"
MOST_NAME = 60


@app.command("list")
def list_all(
    tenant: Tenant = FIRST_TENANT,
    most: Annotated[int, typer.Option(min=1, help="The most sets.")] = 50,
    data_dir: DataDir = DATA_DIRECTORY,
    json: AsJson = False,
) -> None:
    """List the sets of a tenant, newest first: state, numbers, and why."""
    with operator_transaction(data_dir) as db:
        sets = list_sets(db, known_tenant(db, tenant), most=most)
    if json:
        print_json([{**asdict(one), "canary": describe_canary(one.canary)} for one in sets])
        return
    columns = (
        "kind",
        "catalog",
        "version",
        "state",
        "made",
        "evidence",
        "new / in force / words",
        "drift",
        "canary",
        "why",
    )
    table = Table(*columns)
    for one in sets:
        drift = "" if one.drift is None else f"{one.drift:.1%}"
        made = f"{one.made_at:%Y-%m-%d %H:%M}"
        kept = one.state if one.is_kept else f"{one.state} (numbers only)"
        table.add_row(
            one.kind,
            one.name,
            str(one.version),
            kept,
            made,
            f"{one.evidence:,.0f}",
            _numbers(one),
            drift,
            show_canary(one.canary),
            one.reason,
        )
    print_tables(table)


def _numbers(one: SetFacts) -> str:
    """Format a set's shares with intervals: recall@5, or for categories the share of harmed turns."""
    which = "recall_at_5" if one.kind == SetKind.RANKING else "harm"
    plain = "words" if one.kind == SetKind.RANKING else "plain"
    parts = [share_of(one.evaluation.get(name, {}), which) for name in ("new", "in_force", plain)]
    return " / ".join("-" if part is None else show_share(part) for part in parts)


def _name(by: str) -> str:
    """Name the person on one line; a user without a name has a number."""
    try:
        known = by or getuser()
    except (KeyError, OSError):
        known = str(os.getuid())
    return one_line(printable(known), MOST_NAME)


@app.command()
def activate(
    version: Annotated[int, typer.Argument(help="The set, as `list` shows it.")],
    catalog: Catalog = "",
    kind: Kind = SetKind.RANKING,
    *,
    tenant: Tenant = FIRST_TENANT,
    by: By = "",
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Put a set in force, regardless of its verdict; the next night's set must beat it."""
    with operator_transaction(data_dir) as db:
        place = SetPlace(known_tenant(db, tenant), kind, catalog)
        if not activate_set(db, place, version, reason=f"{BY_HAND} by {_name(by)}"):
            raise typer.BadParameter(f"there is no set {version} of it any more")
    print(f"set {version} is in force")


@app.command()
def rollback(
    catalog: Catalog = "",
    kind: Kind = SetKind.RANKING,
    *,
    tenant: Tenant = FIRST_TENANT,
    by: By = "",
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Take the set in force out of use; the set before is in force again, if there was one."""
    with operator_transaction(data_dir) as db:
        place = SetPlace(known_tenant(db, tenant), kind, catalog)
        try:
            before = roll_back(db, place, reason=f"{TAKEN_BACK} by {_name(by)}")
        except LookupError as error:
            raise typer.BadParameter(str(error)) from None
    print("nothing learned is in force" if before is None else f"set {before} is in force")


@app.command()
def canary(
    version: Annotated[int, typer.Argument(help="The set, as `list` shows it.")],
    catalog: Annotated[str, typer.Option(help="The catalog.")],
    share: Annotated[float, typer.Option(help="Share of sessions, above 0 and below 1.")],
    *,
    days: Annotated[int | None, typer.Option(min=1, max=365, help="The most days.")] = None,
    tenant: Tenant = FIRST_TENANT,
    by: By = "",
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Serve a set to a share of sessions; each night outcomes of plans promote it, drop it, or let it go on.

    A share of 0 serves nobody, and a share of 1 leaves nothing to compare with: both are refused.
    """
    if not 0 < share < 1:
        raise typer.BadParameter("--share is above 0 and below 1; `activate` serves a set to every session")
    days = days or learning_settings().learn_canary_days
    with operator_transaction(data_dir) as db:
        place = SetPlace(known_tenant(db, tenant), SetKind.RANKING, catalog)
        reason = f"served to {share:.0%} of sessions by {_name(by)}"
        try:
            start_canary(db, place, version, share=share, days=days, reason=reason)
        except (LookupError, CanaryRefusedError) as error:
            raise typer.BadParameter(str(error)) from None
    print(f"set {version} is served to {share:.0%} of sessions, for {days} days at most")


@app.command()
def stop(
    catalog: Annotated[str, typer.Option(help="The catalog.")],
    *,
    tenant: Tenant = FIRST_TENANT,
    by: By = "",
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Stop the canary of a catalog: the set in force serves every session again."""
    with operator_transaction(data_dir) as db:
        place = SetPlace(known_tenant(db, tenant), SetKind.RANKING, catalog)
        try:
            serving = stop_canary(db, place, reason=f"{STOPPED} by {_name(by)}")
        except LookupError as error:
            raise typer.BadParameter(str(error)) from None
    print("words alone rank" if serving is None else f"set {serving} serves every session")
