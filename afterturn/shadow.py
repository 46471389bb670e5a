"""Shadow mode: compute parts without using them, show savings and losses, and probe planted facts."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer
from rich.table import Table

from afterturn.client import ApiError, Client, UnreachableError
from afterturn.operating import (
    DATA_DIRECTORY,
    FIRST_TENANT,
    AsJson,
    NoTargetError,
    find_target,
    known_tenant,
    operator_transaction,
    print_json,
    print_tables,
)
from afterturn.usage import found_table
from api.shadow.routes import MOST_DAYS, report_members
from context.shadow.facts import PLANTED, planted_turns
from context.shadow.verdict import PartReport, ShadowPart, read_parts
from context.types import JsonObject, Share
from models.database import database_now
from models.learning.cache_found import found_by_model
from models.learning.speculation import MadeAhead, made_ahead
from models.scope import Scope
from models.shadow.reads import find_switch, report_shadow, set_switch
from models.shadow.settings import shadow_settings

MODEL = "gpt-4o"
WINDOW = {"model": MODEL, "context_window": 16_000, "max_tokens": 500}
SMALL = {"model": MODEL, "context_window": 3_000, "max_tokens": 500}
"""Window sizes: large enough for the whole conversation, and small enough to need a summary."""

PAUSE_S = 0.5


@dataclass(frozen=True)
class Probe:
    """A question with the windows holding its fact.

    Attributes:
        question: The question.
        served: True if raw history holds the fact.
        would: Presence of the fact in the window with each part, by name.
        served_tokens: Tokens of the raw window.
        would_tokens: Tokens of the other windows, by name.
    """

    question: str
    served: bool
    would: Mapping[str, bool]
    served_tokens: int
    would_tokens: Mapping[str, int]


def plant_and_probe(
    client: Client,
    *,
    session_id: str = "",
    wait_s: float = 60.0,
    pause: Callable[[float], object] = time.sleep,
) -> list[Probe]:
    """Store the conversation, wait for its summary, and ask every question.

    Args:
        client: The API, with a key for writing and administration.
        session_id: The session, not yet existing; empty for a generated name.
        wait_s: Longest wait for the summary, in seconds; without a summary every fact is present.
        pause: Waits for a number of seconds.

    Raises:
        ApiError: The API refuses, with the reason.
        UnreachableError: The API does not answer.
    """
    name = session_id or f"planted-{uuid4().hex[:12]}"
    for number, (said, answer) in enumerate(planted_turns(), 1):
        client.record_turn(name, _turn(number, said, answer))
    _await_summary(client, name, wait_s, pause)
    return [_probe(client, name, planted.question, planted.fact) for planted in PLANTED]


def _turn(number: int, said: str, answer: str) -> JsonObject:
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
    return {"turn_id": f"planted-{number}", "messages": messages, "model": MODEL}


def _await_summary(client: Client, session_id: str, wait_s: float, pause: Callable[[float], object]) -> None:
    """Read in a too small window until the summary is in force: under pressure, activation is immediate."""
    asked = {**SMALL, "messages": [{"role": "user", "content": "How far are we?"}]}
    for _ in range(int(wait_s / PAUSE_S) + 1):
        client.context(session_id, asked)
        if client.session(session_id)["tokens"]["summary"]:
            return
        pause(PAUSE_S)


def _probe(client: Client, session_id: str, question: str, fact: str) -> Probe:
    asked = {**WINDOW, "messages": [{"role": "user", "content": question}], "facts": [fact]}
    found = client.probe(session_id, {**asked, "parts": [ShadowPart.SUMMARIES]})
    would = found["would_be"]
    return Probe(
        question,
        found["served"]["held"][0],
        {name: one["held"][0] for name, one in would.items()},
        found["served"]["certificate"]["input_tokens"],
        {name: one["certificate"]["input_tokens"] for name, one in would.items()},
    )


app = typer.Typer(
    help="Compute parts without using them; see what they would save and lose.",
    no_args_is_help=True,
    add_completion=False,
)

Parts = Annotated[
    list[str], typer.Option("--part", help=f"{', '.join(ShadowPart)} or all; may be given several times.")
]
TenantName = Annotated[str, typer.Option("--tenant", help="Whose reads.")]
DataDirectory = Annotated[Path, typer.Option("--data-dir", help="Where a stack of `afterturn up` may run.")]


@app.command("on")
def switch_on(
    part: Parts = ["all"],  # noqa: B006 (typer reads it and changes nothing)
    tenant: TenantName = FIRST_TENANT,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Put parts in shadow: computed from now on, and not used."""
    _switch(tenant, data_dir, _read(part), into_shadow=True)


@app.command("off")
def switch_off(
    part: Parts = ["all"],  # noqa: B006 (typer reads it and changes nothing)
    tenant: TenantName = FIRST_TENANT,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Take parts out of shadow: they are used from the next read on."""
    _switch(tenant, data_dir, _read(part), into_shadow=False)


@app.command()
def status(
    tenant: TenantName = FIRST_TENANT, json: AsJson = False, data_dir: DataDirectory = DATA_DIRECTORY
) -> None:
    """Show the parts in shadow and the parts in use."""
    settings = shadow_settings()
    with operator_transaction(data_dir) as db:
        switch = find_switch(Scope(db, known_tenant(db, tenant)), default=settings.shadow_parts)
    if json:
        in_shadow = {part: part in switch.parts for part in ShadowPart}
        own = {"updated_at": switch.updated_at, "recorded_share": settings.shadow_share}
        print_json({"in_shadow": in_shadow, **own})
        return
    for part in ShadowPart:
        print(f"{part:<10} {'in shadow' if part in switch.parts else 'in use'}")
    since = (
        f"by its own switch since {switch.updated_at:%Y-%m-%d %H:%M}"
        if switch.updated_at
        else "by the settings"
    )
    print(f"{tenant}: {since}; {settings.shadow_share:.0%} of the reads in shadow are recorded")


@app.command()
def report(
    tenant: TenantName = FIRST_TENANT,
    days: Annotated[int, typer.Option(min=1, max=MOST_DAYS, help="How many days back.")] = 30,
    json: AsJson = False,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Show each part's savings, losses and verdict, the use of work made ahead, and caches."""
    with operator_transaction(data_dir) as db:
        owner, today = known_tenant(db, tenant), database_now(db).date()
        reports = report_shadow(Scope(db, owner), since=timedelta(days=days), limits=shadow_settings().limits)
        first = today - timedelta(days=days - 1)
        ahead = made_ahead(Scope(db, owner), first_day=first, last_day=today)
        found = found_by_model(db, owner, first_day=first, last_day=today)
    if json:
        print_json(list(map(report_members, reports)))
    elif not reports:
        print(f"no reads in shadow in the last {days} days; `afterturn shadow on` begins")
    else:
        print_tables(report_table(reports))
        for one in reports:
            print(f"{one.tally.part}: {one.verdict}")
    if json:
        return
    if ahead:
        print_tables(ahead_table(ahead))
    if found:
        print_tables(found_table(found))


@app.command()
def plant(
    base_url: Annotated[str | None, typer.Option(help="Where the API is.")] = None,
    api_key: Annotated[str | None, typer.Option(help="A key that may do everything.")] = None,
    session: Annotated[str, typer.Option(help="A session of its own; it must be new.")] = "",
    wait_s: Annotated[float, typer.Option(min=0, max=600, help="How long to wait for its summary.")] = 60,
    data_dir: DataDirectory = DATA_DIRECTORY,
) -> None:
    """Store a small conversation with known facts, and probe the window for each fact."""
    try:
        target = find_target(base_url, api_key, data_dir)
        with Client(target.base_url, target.api_key) as client:
            probes = plant_and_probe(client, session_id=session, wait_s=wait_s)
    except (ApiError, NoTargetError, UnreachableError) as error:
        print(f"afterturn: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    print_tables(probe_table(probes))


def probe_table(probes: Sequence[Probe]) -> Table:
    """Build a table with a row per fact: presence in the served window and in the window with each part."""
    names = list(probes[0].would) if probes else []
    table = Table("question", "all raw", *names)
    for probe in probes:
        held = [probe.served, *(probe.would[name] for name in names)]
        table.add_row(probe.question, *("yes" if one else "LOST" for one in held))
    served = sum(probe.served for probe in probes)
    counts = [sum(probe.would[name] for probe in probes) for name in names]
    table.add_section()
    table.add_row("held", *(f"{count} of {len(probes)}" for count in (served, *counts)))
    if probes:
        table.add_row("tokens", str(probes[-1].served_tokens), *map(str, probes[-1].would_tokens.values()))
    return table


def ahead_table(ahead: Sequence[MadeAhead]) -> Table:
    """Build a table with a row per purpose: work made ahead of use, and its result."""
    table = Table("made ahead", "made", "used", "tokens spent", "tokens saved")
    for one in ahead:
        counts = (one.made, one.used, one.spent_tokens, one.saved_tokens)
        table.add_row(one.purpose, *(f"{count:,}" for count in counts))
    return table


def report_table(reports: Sequence[PartReport]) -> Table:
    """A column for each part: reads, tokens, facts, calls."""
    table = Table("", *(one.tally.part for one in reports))
    for name, say in _ROWS.items():
        table.add_row(name, *map(say, reports))
    return table


def _planted(report: PartReport) -> str:
    tally = report.tally
    return f"{tally.planted_lost} of {tally.planted}" if tally.planted else "-"


def _saving(report: PartReport) -> str:
    saving = report.tally.saving
    return "-" if saving is None else f"{saving:.1%}"


def _share(share: Share | None, found: int, of: int) -> str:
    if share is None:
        return "-"
    return f"{found} of {of}: {share.share:.1%}\n({share.low:.1%} to {share.high:.1%})"


def _money(report: PartReport) -> str:
    """Format a sum of known prices; unknown prices are counted separately, never as 0."""
    tally = report.tally
    unknown = f"{tally.unpriced_reads} unknown" if tally.unpriced_reads else ""
    known = f"{tally.saved_usd:.4f}" if tally.unpriced_reads < tally.reads else ""
    return " + ".join(filter(None, (known, unknown))) or "-"


_ROWS: Mapping[str, Callable[[PartReport], str]] = {
    "reads": lambda one: f"{one.tally.reads:,}",
    "judged": lambda one: f"{one.tally.judged:,}",
    "sessions": lambda one: f"{one.tally.sessions:,}",
    "tokens served": lambda one: f"{one.tally.served_tokens:,}",
    "would be": lambda one: f"{one.tally.would_tokens:,}",
    "saving": _saving,
    "USD saved": _money,
    "facts lost": lambda one: _share(one.lost, one.tally.lost, one.tally.needed),
    "planted lost": _planted,
    "calls blocked": lambda one: _share(one.blocked, one.tally.blocked, one.tally.calls),
}


def _read(names: Sequence[str]) -> frozenset[ShadowPart]:
    try:
        return read_parts(names)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _switch(tenant: str, data_dir: Path, parts: frozenset[ShadowPart], *, into_shadow: bool) -> None:
    with operator_transaction(data_dir) as db:
        owner = known_tenant(db, tenant)
        before = find_switch(Scope(db, owner), default=shadow_settings().shadow_parts).parts
        now = before | parts if into_shadow else before - parts
        set_switch(Scope(db, owner), now)
    named = ", ".join(part for part in ShadowPart if part in now) or "nothing"
    known_in_s = shadow_settings().shadow_cache_s
    print(f"{tenant}: in shadow: {named}; the API knows it within {known_in_s:g} s")
