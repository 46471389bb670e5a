"""Retention from the command line: set a tenant's ages, and show deletions."""

from collections.abc import Mapping
from dataclasses import asdict, replace
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
from context.types import JsonObject
from models.database import Transaction
from models.retention.settings import RetentionSettings, retention_settings
from models.retention.tenant_policy import (
    LastRun,
    Retention,
    find_last_run,
    find_retention,
    list_gone,
    put_retention,
)
from models.scope import Scope

app = typer.Typer(
    help="Say for how long things are kept; see what went with age.",
    add_completion=False,
    no_args_is_help=True,
)

SHOWN_DAYS = 30
MOST_DAYS = 36_500
MINUTE_S = 60

TenantName = Annotated[str, typer.Option("--tenant", help="Whose things.")]
DataDirectory = Annotated[Path, typer.Option("--data-dir", help="Where a stack may run.")]
Days = Annotated[int | None, typer.Option(min=0, max=MOST_DAYS, help="Days; 0 keeps for ever.")]


@app.command()
def show(
    tenant: TenantName = FIRST_TENANT, json: AsJson = False, data_dir: DataDirectory = DATA_DIRECTORY
) -> None:
    """Show wishes, values in force, the last run, and deletions of the last 30 days."""
    with operator_transaction(data_dir) as db:
        if json:
            print_json(_describe(Scope(db, known_tenant(db, tenant))))
        else:
            _show(db, tenant)


@app.command(name="set")
def change(
    *,
    tenant: TenantName = FIRST_TENANT,
    session_days: Days = None,
    plan_days: Days = None,
    ledger_days: Days = None,
    summary_versions: Annotated[int | None, typer.Option(min=0, help="Versions; 0 keeps all.")] = None,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Change some of a tenant's wishes; the others stay."""
    if ledger_days == 1:
        raise typer.BadParameter(
            "--ledger-days: 0 for ever, or 2 and more: caps are counted by today's calls"
        )
    wanted = Retention(session_days, plan_days, ledger_days, summary_versions)
    given = {name: value for name, value in asdict(wanted).items() if value is not None}
    with operator_transaction(data_dir) as db:
        tenant_id = known_tenant(db, tenant)
        put_retention(Scope(db, tenant_id), replace(find_retention(Scope(db, tenant_id)), **given))
        _show(db, tenant)


def _describe(scope: Scope) -> JsonObject:
    wished, days = find_retention(scope), list_gone(scope, days=SHOWN_DAYS)
    return {
        "wished": wished,
        "in_force": wished.over(retention_settings()),
        "of_all_tenants": _of_all(retention_settings()),
        "last_run": find_last_run(scope.db),
        "gone": [{"day": day, "rows_of": name, "rows": rows} for day, name, rows in days],
    }


def _show(db: Transaction, tenant: str) -> None:
    tenant_id = known_tenant(db, tenant)
    wished = find_retention(Scope(db, tenant_id))
    rules = Table("", "wished", "in force")
    for name, value in asdict(wished.over(retention_settings())).items():
        own = getattr(wished, name)
        rules.add_row(
            name.replace("_", " "), "" if own is None else str(own), str(value) if value else "for ever"
        )
    for words, days in _of_all(retention_settings()).items():
        rules.add_row(words, "for all tenants", str(days) if days else "for ever")
    print_tables(rules)
    print(_told(find_last_run(db)))
    gone = Table("day", "rows of", "gone")
    for day, name, rows in list_gone(Scope(db, tenant_id), days=SHOWN_DAYS):
        gone.add_row(str(day), name, str(rows))
    if gone.row_count:
        print_tables(gone)
    else:
        print(f"nothing went in the last {SHOWN_DAYS} days")


def _of_all(settings: RetentionSettings) -> Mapping[str, int]:
    """Return the ages common to all tenants."""
    return {
        "key days": settings.retain_key_days,
        "dead work days": settings.retain_dead_work_days,
        "receipt days": settings.retain_receipt_days,
        "log days": settings.retain_log_days,
    }


def _told(run: LastRun | None) -> str:
    if run is None:
        return "never asked for: no beat has run yet"
    late = "; that is late, see `afterturn status`" if run.is_late else ""
    ago = f"{int(run.since_s // 60)} min ago" if run.since_s >= MINUTE_S else "just now"
    if run.outcome is None:
        return f"no run has ended yet, the first was asked for {ago}{late}"
    return f"last run {ago}: {run.outcome}{late}"
