"""The tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.served.figures import BLOCKS

Row = Mapping[str, Any]
WIDTH = 190
NEEDED = "tau_airline"
"""The set whose evidence is facts that a turn needs."""

LOST = {"served": "served", "head cut off": "newest", "BM25": "bm25"}
"""Ways by their names in the table: history cut at its head to the same size is what most platforms do."""


def show(rows: Sequence[Row]) -> None:
    """Print what was found, and where the tokens went."""
    console = Console(width=WIDTH)
    console.print(_found(rows))
    if needed := [row for row in rows if row["data"] == NEEDED]:
        console.print(_lost(needed))
    console.print(_tokens(rows))


def _found(rows: Sequence[Row]) -> Table:
    title = "Evidence in the served messages; all other ways get the same tokens"
    heads = ("set", "form", "window", "budget", "asks", "served", "95 %", "pieces", "BM25", "newest", "whole")
    more = ("function", "function - served", "served - BM25", "tolerance", "verdict")
    table = Table(*heads, *more, title=title)
    for row in rows:
        low, high = row["served_interval"]
        whole = "-" if row["whole"] is None else f"{row['whole']:.3f} of {row['whole_fits']}"
        table.add_row(
            *_names(row),
            f"[bold]{row['served']:.3f}[/bold]",
            f"{low:.2f}-{high:.2f}",
            f"{row['served_present']:.3f}",
            *(f"{row[name]:.3f}" for name in ("bm25", "newest")),
            whole,
            f"{row['function']:.3f}",
            f"{row['function_gap']:+.3f}",
            f"{row['over_bm25']:+.3f}",
            f"{row['tolerance']:.3f}",
            row["verdict"],
        )
    return table


def _lost(rows: Sequence[Row]) -> Table:
    title = "Needed facts that the window lacks"
    table = Table("set", "form", "window", "budget", "asks", "needed", *LOST, "served / cut", title=title)
    for row in rows:
        lost = row["lost"]
        ratio = f"{lost['served'] / lost['newest']:.2f}" if lost["newest"] else "-"
        shares = (f"{lost[name]:,.0f} ({lost[name] / row['pieces']:.1%})" for name in LOST.values())
        table.add_row(*_names(row), f"{row['pieces']:,}", *shares, ratio)
    return table


def _tokens(rows: Sequence[Row]) -> Table:
    heads = ("set", "form", "window", "budget", "asks", "used", "free", *BLOCKS, "recall says")
    table = Table(*heads, title="Tokens, on average")
    for row in rows:
        said = ", ".join(f"{status} {count}" for status, count in row["recall"].items())
        blocks = (f"{row['blocks'][name]:,.0f}" for name in BLOCKS)
        used = (f"{row[name]:,.0f}" for name in ("used_tokens", "free_tokens"))
        table.add_row(*_names(row), *used, *blocks, said)
    return table


def _names(row: Row) -> tuple[str, ...]:
    budget = f"{row['budget']:,}" if row["budget"] else "none"
    return row["data"], row["form"], f"{row['window']:,}", budget, str(row["asks"])
