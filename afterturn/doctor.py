"""`afterturn doctor`: settings in force, missing parts, and checks of all services."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from afterturn.checks import Finding, check_all, check_role, guarded
from afterturn.settings_report import Group, current_groups, unknown_variables
from afterturn.target import DATA_DIRECTORY, use_running_stack

PIPED_WIDTH = 140

app = typer.Typer(add_completion=False)


@app.command()
def doctor(
    data_dir: Annotated[Path, typer.Option(help="Where a stack of `afterturn up` may run.")] = DATA_DIRECTORY,
    alive: Annotated[str | None, typer.Option(help="Only ask whether this role is at work.")] = None,
) -> None:
    """Print the settings in force and check database, broker, background, tokenizer and models."""
    console = make_console()
    if use_running_stack(data_dir):
        console.print(f"looking at the stack that runs in {data_dir}")
    if alive is not None:
        finish(console, [guarded(alive, lambda: check_role(alive))])
    else:
        look_at_everything(console)


def look_at_everything(console: Console) -> None:
    """Show the settings, then run the checks; with wrong settings the checks are skipped."""
    groups = current_groups()
    console.print(settings_table(groups))
    problems = [problem for group in groups for problem in group.problems]
    for problem in problems:
        console.print(f"[red]wrong[/red]    {problem}", highlight=False)
    for name in unknown_variables(os.environ):
        console.print(f"[yellow]unknown[/yellow]  {name} is no setting and changes nothing", highlight=False)
    if problems:
        raise typer.Exit(1)
    finish(console, check_all())


def finish(console: Console, findings: Sequence[Finding]) -> None:
    """Print findings; exit with a failure if any check failed."""
    for finding in findings:
        console.print(line(finding), highlight=False)
    if not all(finding.is_well for finding in findings):
        raise typer.Exit(1)


def make_console() -> Console:
    """Make a console, with a wide enough line outside of a terminal."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    return console


def settings_table(groups: list[Group]) -> Table:
    """Build a table of all settings, chosen values marked; names are never cut."""
    table = Table(title="settings in force", title_justify="left")
    table.add_column("setting", no_wrap=True)
    for column in ("value", "from", "meaning"):
        table.add_column(column, overflow="fold")
    for group in groups:
        table.add_section()
        for setting in group.settings:
            origin = "default" if setting.is_default else "[bold]environment[/bold]"
            table.add_row(setting.variable, setting.value, origin, setting.meaning)
    return table


def line(finding: Finding) -> str:
    """Format a finding for people."""
    mark = "[green]well[/green]   " if finding.is_well else "[red]missing[/red]"
    return f"{mark}  {finding.what}: {finding.seen}"
