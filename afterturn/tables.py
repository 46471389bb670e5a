"""Output of commands: tables for people, in one style, and JSON for scripts."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

import orjson
import typer
from rich.box import MINIMAL, SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from context.text.cut import printable

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="As JSON.")]
"""The option of every command that answers scripts too."""


def print_json(answer: Any) -> None:
    """Print an answer as JSON; sums of money become numbers, and times ISO 8601.

    Args:
        answer: Values, data classes and lists of them.
    """
    print(orjson.dumps(answer, default=_plain, option=orjson.OPT_INDENT_2).decode())


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def print_tables(*tables: Table) -> None:
    """Print tables with every cell complete: a date or a name must not be cut off.

    Args:
        tables: The tables. In a pipe the width is unlimited. On a narrow screen the lines between cells are
            dropped, and long cells are wrapped.
    """
    console = _PlainConsole()
    for table in tables:
        table.box, table.show_edge, table.pad_edge = MINIMAL, False, False
        table.header_style, table.title_justify = "bold", "left"
        for column in table.columns:
            column.overflow = "fold"
        wanted = _width(console, table)
        if not console.is_terminal:
            console.width = max(console.width, wanted)
        elif wanted > console.width:
            table.box, table.padding = SIMPLE, (0, 1, 0, 0)
        console.print(table)


class _PlainConsole(Console):
    """A console that shows every cell letter by letter: names come from clients, and are no orders."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Read a text without markup, and without control characters but line breaks."""
        plain = "\n".join(map(printable, text.split("\n")))
        return super().render_str(plain, **{**options, "emoji": False, "markup": False})


def _width(console: Console, table: Table) -> int:
    roomy = console.options.update(max_width=10_000)
    return Measurement.get(console, roomy, table).maximum
