"""Trial of a preflight policy on recorded decisions, before activation."""

import json
import sys
from collections.abc import Mapping
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
)
from api.preflight.decide import load_policy
from context.errors import InvalidInputError
from context.preflight.config import PreflightRules, read_config
from context.preflight.replay import MOST_HARM, NO_CATEGORY, Replay, ReplayVerdict, replay
from context.preflight.types import LearnedWeights
from models.preflight.decision import PAGE, join_decisions, load_decisions
from models.preflight.settings import preflight_settings
from models.scope import Scope

app = typer.Typer(
    help="Try a preflight policy on what was decided before.", no_args_is_help=True, add_completion=False
)

MOST_ROWS = 30

PolicyFile = Annotated[
    Path | None, typer.Option(help="The policy to try, as JSON; the one in force without it.")
]
Days = Annotated[int | None, typer.Option(min=1, max=36_500, help="Only decisions of the last so many days.")]
Tenant = Annotated[str, typer.Option(help="Whose decisions.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]

_SAYINGS: Mapping[ReplayVerdict, str] = {
    ReplayVerdict.HARMFUL: (
        f"harmful: it blocks calls in more than {MOST_HARM:.0%} of the turns that made some"
    ),
    ReplayVerdict.SAFE: f"safe: it blocks calls in no more than {MOST_HARM:.0%} of the turns that made some",
    ReplayVerdict.UNKNOWN: "unknown: no turn on record called a tool",
}


@app.callback()
def preflight() -> None:
    """Try a preflight policy on recorded decisions."""


@app.command("replay")
def replay_policy(
    policy: PolicyFile = None,
    days: Days = None,
    tenant: Tenant = FIRST_TENANT,
    as_json: AsJson = False,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Replay a policy over the record, and count the blocked tool calls of later turns.

    The exit code is 3 for a harmful policy.
    """
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
        in_force = load_policy(Scope(db, owner))
        config = in_force.config if policy is None else _read(policy)
        while join_decisions(Scope(db, owner)) == PAGE:
            pass
        since = datetime.now(UTC) - timedelta(days=days) if days else None
        weights = LearnedWeights(factors=in_force.factors)
        found = replay(load_decisions(Scope(db, owner), since=since), config, weights=weights)
    if as_json:
        blocked = [
            {"category": of, "tool": tool, "calls": found.blocked[of, tool]} for of, tool in found.blocked
        ]
        print_json({**vars(found), "blocked": blocked, "harm": found.harm, "verdict": found.verdict})
    else:
        _show(found)
    if found.verdict is ReplayVerdict.HARMFUL:
        raise typer.Exit(3)


def _read(policy: Path) -> PreflightRules:
    try:
        return read_config(json.loads(policy.read_text()), base=preflight_settings().policy)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        print(f"afterturn: {policy}: {reason}", file=sys.stderr)
    except InvalidInputError as error:
        print(f"afterturn: {policy}: {error.message}", file=sys.stderr)
    raise typer.Exit(2)


def _show(found: Replay) -> None:
    unsure = found.by_category.get(NO_CATEGORY, 0)
    print(f"decisions {found.decisions}, followed by turns with tool calls {found.with_calls}")
    print(f"without a category {unsure} ({_share(unsure, found.decisions)})")
    then, now = (_share(hidden, found.offered) for hidden in (found.hidden_then, found.hidden_now))
    print(f"tools hidden: {then} when decided, {now} by this policy")
    if found.blocked:
        table = Table("category", "tool", "blocked calls", title="What it would have blocked")
        for (category, tool), times in sorted(found.blocked.items(), key=lambda item: (-item[1], item[0]))[
            :MOST_ROWS
        ]:
            table.add_row(category, tool, str(times))
        print_tables(table)
    print(f"turns harmed {found.harmed} of {found.with_calls} ({_share(found.harmed, found.with_calls)})")
    print(f"verdict: {_SAYINGS[found.verdict]}")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
