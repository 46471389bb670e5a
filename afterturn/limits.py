"""Model limits from the command line: list windows in force, set a window, forget learned ones."""

import sys
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
from context.tokens.budget import HistoryLimit
from models.conversations.session import find_session
from models.conversations.session_notes import (
    LEAST_HISTORY_TOKENS,
    set_session_history_limit,
    set_tenant_history_limit,
    tenant_history_limit,
)
from models.providers.limit_report import KnownLimit, forget_limits, list_limits, set_limit
from models.scope import Scope

app = typer.Typer(
    help="Show, set and forget the windows that models turned out to have, and limits of history.",
    no_args_is_help=True,
    add_completion=False,
)

MOST_TOKENS = 100_000_000

Tenant = Annotated[str, typer.Option(help="The tenant.")]
DataDir = Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")]


@app.command("list")
def list_all(
    *,
    model: Annotated[str | None, typer.Argument(help="A model; all without.")] = None,
    json: AsJson = False,
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Show the limits in force: limits of the whole tenant first, then the newest of sessions."""
    with operator_transaction(data_dir) as db:
        limits = list_limits(Scope(db, known_tenant(db, tenant)), model=model)
    if json:
        print_json(limits)
    elif not limits:
        print(f"{tenant}: no limits; models are taken at their profiles and at requests' word")
    else:
        print_tables(_table(limits))


@app.command("set")
def set_one(
    model: Annotated[str, typer.Argument(help="The model, as requests name it.")],
    tokens: Annotated[int, typer.Argument(min=2, max=MOST_TOKENS, help="Its window.")],
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Set a model's window for all sessions, without expiry."""
    with operator_transaction(data_dir) as db:
        set_limit(Scope(db, known_tenant(db, tenant)), model, tokens)
    print(f"set {model}: {tokens:,} tokens")


@app.command("history")
def limit_history(
    tokens: Annotated[
        int | None,
        typer.Argument(
            min=LEAST_HISTORY_TOKENS, max=MOST_TOKENS, help="The most; without it the limit is shown."
        ),
    ] = None,
    *,
    session: Annotated[str | None, typer.Option(help="One session, in place of its tenant.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Take the limit away.")] = False,
    json: AsJson = False,
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Show or set the most tokens of history in any request: summary, turns, recall and artifacts."""
    if none and tokens is not None:
        raise typer.BadParameter("name the tokens or say --none")
    with operator_transaction(data_dir) as db:
        limit = _history_limit(
            Scope(db, known_tenant(db, tenant)), session, tokens, changes=none or tokens is not None
        )
    if json:
        print_json(limit)
        return
    told = (
        f"{limit.tokens:,} tokens, set for the {limit.source}"
        if limit
        else "none; requests may fill the window"
    )
    print(f"{session or tenant}: the most history of a request is {told}")


def _history_limit(
    scope: Scope, session: str | None, tokens: int | None, *, changes: bool
) -> HistoryLimit | None:
    if session is None:
        if changes:
            set_tenant_history_limit(scope, tokens)
        return tenant_history_limit(scope)
    if changes:
        set_session_history_limit(scope, session, tokens)
    found = find_session(scope, session)
    if found is None:
        raise typer.BadParameter(f"there is no session {session!r} of this tenant")
    return found.history_limit


@app.command()
def forget(
    model: Annotated[str | None, typer.Argument(help="A model.")] = None,
    *,
    session: Annotated[str | None, typer.Option(help="What one session saw alone.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every limit of the tenant.")] = False,
    tenant: Tenant = FIRST_TENANT,
    data_dir: DataDir = DATA_DIRECTORY,
) -> None:
    """Forget limits, including limits set by an operator; the next request goes without them."""
    if not (model or session or every):
        raise typer.BadParameter("name a model or --session, or say --all")
    with operator_transaction(data_dir) as db:
        gone = forget_limits(Scope(db, known_tenant(db, tenant)), model=model, session_id=session)
    if not gone and not every:
        known = " and ".join([*([model] if model else []), *([f"session {session}"] if session else [])])
        print(f"{tenant}: no limit of {known} is known; `afterturn limits list` shows all", file=sys.stderr)
        raise typer.Exit(1)
    print(f"forgotten: {gone}")


def _table(limits: list[KnownLimit]) -> Table:
    table = Table("model", "tokens", "source", "session", "seen", "until")
    for limit in limits:
        table.add_row(
            limit.model,
            f"{limit.limit_tokens:,}",
            limit.source,
            limit.session_id or "all",
            f"{limit.seen_at:%Y-%m-%d %H:%M}",
            f"{limit.expires_at:%Y-%m-%d %H:%M}" if limit.expires_at else "forgotten",
        )
    return table
