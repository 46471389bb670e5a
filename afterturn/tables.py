"""Tables on a screen or in a pipe: narrow is not cut off, and nothing is narrower than it must be."""

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def print_tables(*tables: Table) -> None:
    """Print tables so that each cell can be read whole: a date or a name that is cut off says nothing.

    Args:
        tables: In a pipe they are as wide as they like. On a screen that is too narrow they lose the lines
            around their cells, and what does not fit even so goes on in the next line.
    """
    console = Console()
    for table in tables:
        for column in table.columns:
            column.overflow = "fold"
        wanted = _width(console, table)
        if not console.is_terminal:
            console.width = max(console.width, wanted)
        elif wanted > console.width:
            table.box, table.padding = SIMPLE, (0, 1, 0, 0)
        console.print(table)


def _width(console: Console, table: Table) -> int:
    roomy = console.options.update(max_width=10_000)
    return Measurement.get(console, roomy, table).maximum
