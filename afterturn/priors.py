"""Sets of priors from the command line: list, activate, roll back, with figures of judged sets."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from getpass import getuser
from pathlib import Path
from typing import Annotated, Any

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
)
from context.priors.evaluate import Change
from context.text.cut import one_line, printable
from context.types import JsonObject, Share, wilson
from models.learning.canary import CanaryFacts, CanaryRefusedError, start_canary, stop_canary
from models.learning.prior_set import SetKind, SetPlace, activate_set, roll_back
from models.learning.progress import find_canary_share, set_canary_share
from models.learning.set_listing import SetFacts, list_sets
from models.learning.settings import learning_settings
from models.scope import Scope

RANKINGS = {"new": "new", "observed": "observed", "in_force": "in force", "words": "words alone"}
RECALLS = {"recall_at_1": "recall@1", "recall_at_5": "recall@5"}
MOST_INTENT = 80
"""Characters of an intent in an example."""

_OF = {"recall_at_1": "plans", "recall_at_5": "plans", "harm": "with_calls"}


def share_of(figures: Mapping[str, Any], name: str) -> Share | None:
    """Return a share with Wilson's interval, each held-out plan or turn as a trial.

    Args:
        figures: Figures of a ranking or a policy, as in the evaluation of a set.
        name: `recall_at_1`, `recall_at_5` or `harm`.

    Returns:
        The share; None where nothing was judged. A plan with several tools counts in parts, so that the
        interval is rather too wide.
    """
    of = int(figures.get(_OF[name]) or 0)
    if not of or name not in figures:
        return None
    share = float(figures[name])
    around = wilson(min(round(share * of), of), of)
    return Share(share, min(around.low, share), max(around.high, share)) if around else None


def show_share(share: Share) -> str:
    """Format a share with its interval."""
    return f"{share.share:.3f} [{share.low:.3f}, {share.high:.3f}]"


def describe_evaluation(evaluation: Mapping[str, Any]) -> list[JsonObject]:
    """Describe the figures of a ranking set: each ranking with its plans, and its shares with intervals."""
    return [
        {
            "ranking": name,
            "plans": evaluation[name]["plans"],
            **{which: share_of(evaluation[name], which) for which in RECALLS},
        }
        for name in RANKINGS
        if name in evaluation
    ]


def print_evaluation(evaluation: Mapping[str, Any]) -> None:
    """Print the figures of a ranking set, a line for each ranking."""
    for one in describe_evaluation(evaluation):
        shares = [f"{RECALLS[which]} {show_share(one[which])}" for which in RECALLS if one[which]]
        if shares:
            print(f"  {RANKINGS[one['ranking']]:<11}  {'  '.join(shares)}  of {one['plans']:.0f} plans")


def print_changes(changes: Sequence[Change], most: int) -> None:
    """Print the tools of held-out intents that rank higher and lower than by words alone.

    Args:
        changes: The largest gain first, losses last.
        most: Number of examples of each kind.
    """
    better = [one for one in changes if one.gain > 0]
    worse = [one for one in reversed(changes) if one.gain < 0]
    for name, found in (("better", better), ("worse", worse)):
        print(f"  {name} than words alone: {len(found):,} tools of held-out intents")
        for one in found[:most]:
            intent = one_line(printable(one.intent), MOST_INTENT)
            print(f'    {_place(one.before)} -> {_place(one.after)}  {one.tool}  "{intent}"')


def _place(place: int | None) -> str:
    return "-" if place is None else str(place)


def describe_set(one: SetFacts) -> JsonObject:
    """Describe a judged set for programs."""
    return {
        "catalog": one.name,
        "version": one.version,
        "state": one.state,
        "made_at": one.made_at,
        "evidence": one.evidence,
        "drift": one.drift,
        "reason": one.reason,
        "rankings": describe_evaluation(one.evaluation),
        "canary": describe_canary(one.canary),
    }


def describe_canary(canary: CanaryFacts | None) -> JsonObject | None:
    """Describe a canary for programs, the sets named as in lists: null for words alone."""
    return {**asdict(canary), "base": canary.base or None} if canary else None


def show_canary(canary: CanaryFacts | None) -> str:
    """Format a canary: its share of sessions, its end, and the shares of plans that went well."""
    if canary is None:
        return ""
    new, old = (show_share(arm.share) if arm.share else "-" for arm in (canary.new, canary.in_force))
    plans = f"{canary.new.plans} and {canary.in_force.plans} plans"
    told = canary.end or f"until {canary.until:%Y-%m-%d}"
    return f"{canary.share:.0%} of sessions, {told}: {new} / {old} of {plans}"


def print_canary(one: SetFacts) -> None:
    """Print the canary of a set, if it is or was one."""
    if one.canary:
        print(f"  canary       {show_canary(one.canary)}")


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
        sets = list_sets(Scope(db, known_tenant(db, tenant)), most=most)
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


@app.command("share")
def share_canaries(
    share: Annotated[
        float | None, typer.Argument(help="At least 0, below 1; without it the share is shown.")
    ] = None,
    *,
    none: Annotated[bool, typer.Option("--none", help="Follow the installation again.")] = False,
    tenant: Tenant = FIRST_TENANT,
    json: AsJson = False,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Show or set the share of sessions to which a night's better set is served first.

    A share of 0 puts a better set in force at once.
    """
    if none and share is not None:
        raise typer.BadParameter("name the share or say --none")
    if share is not None and not 0 <= share < 1:
        raise typer.BadParameter("the share is at least 0 and below 1")
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
        if none or share is not None:
            set_canary_share(Scope(db, tenant_id), share)
        found = find_canary_share(Scope(db, tenant_id), learning_settings())
    if json:
        print_json(found._asdict())
        return
    served = (
        f"is served to {100 * found.share:g}% of sessions first" if found.share else "takes force at once"
    )
    print(f"{tenant}: a night's better set {served}, set for the {found.source}")
