"""`afterturn doctor`: settings that were changed, missing parts, and checks of all services."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from afterturn.operating import DATA_DIRECTORY, AsJson, print_json, print_tables, use_running_stack
from afterturn.settings import Setting, current_groups, unknown_variables
from context.text.cut import printable
from context.tokens import count_text
from llm.settings import EXTRACTIVE, llm_settings
from models.base_settings import RELEASE, newest_migration
from models.database import read_transaction
from models.database_settings import database_settings
from models.due_work.heartbeat import MODELS_IN_USE, find_agreed
from models.encryption.cipher import seals
from models.encryption.masters import find_masters
from models.ledger.caps import SaidBy, find_caps, told
from models.ledger.settings import budget_settings
from workers.settings import worker_settings

CONNECT_TIMEOUT_S = 3
STALE_AFTER_S = 60
BACKGROUND_ROLES = ("dispatcher", "worker")


@dataclass(frozen=True)
class Finding:
    """Result of a check: its name, success, and details."""

    what: str
    is_well: bool
    seen: str


def check_all() -> list[Finding]:
    """Run all checks; a failing check becomes a finding without stopping the others."""
    checks: dict[str, Callable[[], Finding]] = {
        "database": check_database,
        "background": check_background,
        "broker": check_broker,
        "tokenizer": check_tokenizer,
        "text keys": check_text_keys,
        "models": check_models,
        "caps": check_caps,
    }
    return [guarded(name, check) for name, check in checks.items()]


def guarded(name: str, check: Callable[[], Finding]) -> Finding:
    """Run a check; an exception becomes a finding."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - whatever it is, the person reading wants the other checks too
        reason = str(error).strip().splitlines() or [""]
        return Finding(name, is_well=False, seen=f"{type(error).__name__}: {reason[0]}")


def _connect() -> psycopg.Connection:
    return psycopg.connect(
        database_settings().database_url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S
    )


def check_database() -> Finding:
    """Check that the database answers, is fully migrated, and commits durably."""
    with _connect() as database:
        version = database.execute("show server_version").fetchone()
        durable = database.execute("show synchronous_commit").fetchone()
        found = database.execute("select to_regclass('alembic_version') is not null").fetchone()
        migrated = (
            database.execute("select version_num from alembic_version").fetchone()
            if found == (True,)
            else None
        )
        lacking = _lacking(database) if database_settings().transaction_pooler else ""
    newest = newest_migration()
    if migrated != (newest,):
        return Finding(
            "database",
            is_well=False,
            seen=f"at migration {_one(migrated)}, this code knows {newest}: run `afterturn migrate`",
        )
    if lacking:
        return Finding(
            "database", is_well=False, seen=f"behind the pooler statements have no limit: {lacking}"
        )
    return Finding(
        "database",
        is_well=durable != ("off",),
        seen=f"PostgreSQL {_one(version)}, migration {_one(migrated)}, synchronous_commit {_one(durable)}",
    )


def _lacking(database: psycopg.Connection) -> str:
    """Write the statement that gives the login role the parameters which independent statements need."""
    limit_ms = database_settings().statement_timeout_ms
    row = database.execute("show statement_timeout").fetchone()
    return f"alter role current_user set statement_timeout = {limit_ms}" if row == ("0",) else ""


def check_background() -> Finding:
    """The dispatcher and a worker have been at work within the last minute."""
    with _connect() as database:
        rows = database.execute("select role, max(seen_at) from heartbeat group by role").fetchall()
    seen = {role: (datetime.now(UTC) - at).total_seconds() for role, at in rows}
    told = [
        f"{role} {seen[role]:.0f} s ago" if role in seen else f"{role} never" for role in BACKGROUND_ROLES
    ]
    well = all(seen.get(role, STALE_AFTER_S) < STALE_AFTER_S for role in BACKGROUND_ROLES)
    return Finding("background", is_well=well, seen=f"last at work: {', '.join(told)}")


def check_broker() -> Finding:
    """Check that the broker answers, and never evicts messages to save memory."""
    import redis  # noqa: PLC0415 (for this check alone, and slow to import)

    with redis.Redis.from_url(
        worker_settings().broker_url, socket_connect_timeout=CONNECT_TIMEOUT_S, decode_responses=True
    ) as broker:
        policy = broker.config_get("maxmemory-policy")["maxmemory-policy"]
        return Finding("broker", is_well=policy == "noeviction", seen=f"answers, maxmemory-policy {policy}")


def check_tokenizer() -> Finding:
    """Tokens can be counted without a network."""
    tokens = count_text("Count me, and nobody else.")
    return Finding(
        "tokenizer", is_well=tokens > 0, seen=f"counts offline ({tokens} tokens in its test sentence)"
    )


def check_text_keys() -> Finding:
    """Check that the environment has the keys of all protected stored text."""
    with read_transaction() as db:
        masters = find_masters(db)
    told = [
        f"{tenants:,} {'tenant' if tenants == 1 else 'tenants'} under {name}"
        + ("" if opens else ", which AFTERTURN_TEXT_KEYS lacks here or has wrong")
        for name, (tenants, opens) in masters.items()
    ]
    state = f"new text is {'sealed' if seals() else 'stored as it is'}"
    well = all(opens for _, opens in masters.values())
    return Finding("text keys", is_well=well, seen="; ".join([*told, state]))


def check_models() -> Finding:
    """Report the models of the workers and whether caps admit a call; the built-in one is noted."""
    settings = llm_settings()
    try:
        settings.check_caps(budget_settings().caps)
    except ValueError as error:
        return Finding("models", is_well=False, seen=str(error))
    here = [settings.summarizer_model, settings.context_planner_model]
    with read_transaction() as db:
        said = [find_agreed(db, "worker", name) or own for name, own in zip(MODELS_IN_USE, here, strict=True)]
    seen = "summaries by {}, plans by {}".format(*said)
    if said != here:
        seen += ", as the workers say; the settings of here name {} and {}".format(*here)
    if said[0] == EXTRACTIVE:
        seen += "; for a real model set a provider's key, for example OPENAI_API_KEY, and SUMMARIZER_MODEL"
    return Finding("models", is_well=True, seen=seen)


def check_caps() -> Finding:
    """Check that workers use the caps of the present settings; a worker needs a restart for new caps."""
    own = budget_settings().caps
    with read_transaction() as db:
        in_force = find_caps(db, own)
    if in_force.said_by is SaidBy.OWN_SETTINGS:
        return Finding("caps", is_well=True, seen="those above; no worker has said yet by which it judges")
    here, there = told(own), told(in_force.caps)
    others = [
        f"AFTERTURN_{name.upper()} is {there[name] or 'none'} there and {here[name] or 'none'} here"
        for name in here
        if getattr(own, name) != getattr(in_force.caps, name)
    ]
    if others:
        advice = "start the workers anew with those of here, or look from where theirs are set"
        return Finding("caps", is_well=False, seen=f"workers judge by others: {', '.join(others)}; {advice}")
    if in_force.differ:
        seen = "the worker seen last judges by those above, another one by others: start it anew"
        return Finding("caps", is_well=False, seen=seen)
    return Finding("caps", is_well=True, seen="workers judge by those above")


def _one(row: tuple[object, ...] | None) -> object:
    return row[0] if row else None


PIPED_WIDTH = 140

app = typer.Typer(add_completion=False)


@app.command()
def doctor(
    data_dir: Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")] = DATA_DIRECTORY,
    everything: Annotated[bool, typer.Option("--all", help="Show settings with default values too.")] = False,
    json: AsJson = False,
) -> None:
    """Print the changed settings and check database, broker, background, tokenizer and models."""
    is_running = use_running_stack(data_dir)
    groups, unknown = current_groups(), unknown_variables(os.environ)
    problems = [problem for group in groups for problem in group.problems]
    shown = [one for group in groups for one in group.settings if everything or not one.is_default]
    # With wrong settings every check would fail, and none would say why.
    findings = [] if problems else check_all()
    is_well = not problems and all(finding.is_well for finding in findings)
    if json:
        parts = {"settings": shown, "problems": problems, "unknown": unknown, "checks": findings}
        print_json({"release": RELEASE, "is_well": is_well, **parts})
    else:
        print(f"afterturn {RELEASE}" + (f", the stack that runs in {data_dir}" if is_running else ""))
        if shown:
            print_tables(settings_table(shown))
        hidden = sum(len(group.settings) for group in groups) - len(shown)
        print(f"{hidden} settings have their defaults: `--all` shows them" if hidden else "", end="\n\n")
        _print_verdict(make_console(), problems, unknown, findings)
    if not is_well:
        raise typer.Exit(1)


def _print_verdict(
    console: Console, problems: Sequence[str], unknown: Sequence[str], findings: Sequence[Finding]
) -> None:
    for problem in problems:
        console.print(f"[red]wrong[/red]    {escape(problem)}", highlight=False)
    for name in unknown:
        console.print(
            f"[yellow]unknown[/yellow]  {escape(name)} is no setting and changes nothing", highlight=False
        )
    for finding in findings:
        console.print(line(finding), highlight=False)


def make_console() -> Console:
    """Make a console, with a wide enough line outside of a terminal."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    return console


def settings_table(settings: Sequence[Setting]) -> Table:
    """Build a table of settings; names are never cut."""
    table = Table()
    table.add_column("setting", no_wrap=True)
    for column in ("value", "from", "meaning"):
        table.add_column(column)
    for one in settings:
        origin = "default" if one.is_default else "environment"
        table.add_row(one.variable, one.value, origin, one.meaning)
    return table


def line(finding: Finding) -> str:
    """Format a finding for people."""
    mark = "[green]well[/green]   " if finding.is_well else "[red]missing[/red]"
    return f"{mark}  {escape(printable(f'{finding.what}: {finding.seen}'))}"
