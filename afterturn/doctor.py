"""`afterturn doctor`: settings that were changed, missing parts, and checks of all services."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from afterturn.checks import Finding, check_all
from afterturn.settings_report import Setting, current_groups, unknown_variables
from afterturn.tables import AsJson, print_json, print_tables
from afterturn.target import DATA_DIRECTORY, use_running_stack
from context.text.cut import printable
from models.release import RELEASE

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
