"""Tables on a screen or in a pipe, wrapped instead of cut, and never narrower than needed."""

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def print_tables(*tables: Table) -> None:
    """Print tables with every cell complete: a date or a name must not be cut off.

    Args:
        tables: The tables. In a pipe the width is unlimited. On a narrow screen the lines around cells are
            dropped, and long cells are wrapped.
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
