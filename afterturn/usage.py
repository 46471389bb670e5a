"""Costs of models: the ledger by day, purpose and model, as a table."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from afterturn.operating import (
    DATA_DIRECTORY,
    AsJson,
    known_tenant,
    operator_transaction,
    print_json,
    print_tables,
)
from models.learning.cache_found import ModelFound, found_by_model
from models.ledger.by_day import all_usage_by_day
from models.ledger.call import DayUsage, Spent, charged_today, spent_today
from models.ledger.caps import Caps, SaidBy, find_caps
from models.ledger.settings import budget_settings
from models.scope import Scope
from models.tenants.tenant import name_tenants

MOST_TENANTS = 20
"""So many tenants' charges of today are shown, the highest first."""

DOUBTS = {
    (SaidBy.OWN_SETTINGS, False): "These are the caps of this command's own settings: no worker has said by "
    "which ones it judges.",
    (SaidBy.WORKERS, True): "These are the caps of the worker that was seen last; another one, seen within a "
    "minute, has different ones. Where that lasts, give every worker the same.",
}

app = typer.Typer(add_completion=False)


@app.command()
def usage(
    tenant: Annotated[str | None, typer.Option(help="Whose calls; everybody's where none is named.")] = None,
    days: Annotated[int, typer.Option(min=1, max=400, help="How many days, today included.")] = 30,
    data_dir: Annotated[Path, typer.Option(help="Where a stack may run.")] = DATA_DIRECTORY,
    json: AsJson = False,
) -> None:
    """Show costs by day, purpose and model, the found part of caches, and the rest of today's caps."""
    now = datetime.now(UTC)
    with operator_transaction(data_dir) as db:
        owner = None if tenant is None else known_tenant(db, tenant)
        first = now.date() - timedelta(days=days - 1)
        rows = all_usage_by_day(db, owner, first_day=first, last_day=now.date())
        found = found_by_model(db, owner, first_day=first, last_day=now.date())
        spent = (
            charged_today(db, now=now) if owner is None else {owner: spent_today(Scope(db, owner), now=now)}
        )
        names = name_tenants(db, set(spent))
        in_force = find_caps(db, budget_settings().caps)
    if json:
        today = [{"tenant": names.get(owner), **asdict(used)} for owner, used in spent.items()]
        print_json({"days": rows, "caches": found, "today": today, "caps": in_force})
        return
    if rows:
        print_tables(_table(rows))
    else:
        print("no calls")
    if found:
        print_tables(found_table(found))
    for tenant_id, used in list(spent.items())[:MOST_TENANTS]:
        print(f"today, {names.get(tenant_id, tenant_id)}: {_charged(used, in_force.caps)}")
    if len(spent) > MOST_TENANTS:
        print(f"and {len(spent) - MOST_TENANTS} tenants more, which used less")
    if not spent:
        print(f"today: {_charged(Spent(0, Decimal()), in_force.caps)}")
    print(f"a session may take {_most(in_force.caps)} in a day")
    if doubt := DOUBTS.get((in_force.said_by, in_force.differ)):
        print(doubt)


def found_table(found: Sequence[ModelFound]) -> Table:
    """Build a table with a row per model: expected and reported tokens of the provider's cache."""
    table = Table("cache of", "reports", "expected", "reported", "difference", "share found")
    for one in found:
        sums = one.sums
        counts = (sums.reports, sums.expected_tokens, sums.reported_tokens)
        difference = f"{sums.difference_tokens:+,}"
        table.add_row(one.model, *(f"{count:,}" for count in counts), difference, f"{sums.share:.1%}")
    return table


def _charged(used: Spent, caps: Caps) -> str:
    """Format the used part of a tenant's caps."""
    tokens = f"{used.tokens:,} tokens of {_cap(caps.tenant_tokens_per_day)}"
    return f"{tokens}, {used.usd:,.4f} USD of {_cap(caps.tenant_usd_per_day)} charged"


def _cap(most: float | Decimal | None) -> str:
    return f"{most:,}" if most else "no cap"


def _most(caps: Caps) -> str:
    """The caps of each session."""
    tokens, usd = caps.session_tokens_per_day, caps.session_usd_per_day
    limits = [f"{tokens:,} tokens" if tokens else "", f"{usd:,} USD" if usd else ""]
    return " and ".join(filter(None, limits)) or "as much as its tenant"


def _table(rows: list[DayUsage]) -> Table:
    table = Table("day", "purpose", "model", "calls", "failed", "in", "cached", "out", "USD")
    for row in rows:
        numbers = (row.calls, row.failed + row.lost, row.input_tokens, row.cached_tokens, row.output_tokens)
        table.add_row(
            str(row.day), row.purpose, row.model, *(f"{number:,}" for number in numbers), _price(row)
        )
    return table


def _price(row: DayUsage) -> str:
    """Format a sum of known prices; unknown prices are counted separately, never as 0."""
    unknown = f"{row.unpriced_calls} unknown" if row.unpriced_calls else ""
    known = f"{row.price_usd:.4f}" if row.price_usd or not unknown else ""
    return " + ".join(filter(None, (known, unknown)))
