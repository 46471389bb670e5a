"""What is printed: a line every half minute, and the tables of the end."""

import math
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.soak.call import Book, Timed
from benchmarks.soak.samples import Sample
from benchmarks.soak.verdict import Growth, by_call, percentiles

WINDOWS = 10
"""Into so many stretches the course of a run is cut."""

_CONSOLE = Console(width=128)


def show_line(at_s: float, calls: Sequence[Timed], over_s: float, sample: Sample, faults: int) -> None:
    """How it goes: the calls of the last stretch, and the latest sample."""
    grouped = by_call(calls)
    shown = [f"{at_s:4.0f} s  {len(calls) / over_s:5.1f} calls/s"]
    for call in ("turn", "context"):
        found = percentiles(grouped.get(call, []))
        shown.append(f"{call} {found.p50:3.0f}/{found.p95:3.0f}/{found.p99:3.0f} ms")
    memory = " ".join(f"{role} {mb:.0f}" for role, mb in sample.memory_mb.items())
    shown += [
        f"due {sample.due}, oldest {sample.age_s:.1f} s",
        f"MB: {memory}",
        f"{sample.connections} connections",
        f"database {sample.database_mb:.0f} MB",
        f"{faults} faults",
    ]
    print("  ".join(shown), flush=True)


def show_calls(book: Book, length_s: float) -> None:
    """Every call: how often, how fast, and how fast in the first and in the last third."""
    table = Table(title="Latency from the moment a call was due, ms")
    for column in ("call", "calls", "a second", "p50", "p95", "p99", "p95, first third", "p95, last third"):
        table.add_column(column, justify="left" if column == "call" else "right")
    first = by_call(one for one in book.calls if one.at_s < length_s / 3)
    last = by_call(one for one in book.calls if one.at_s >= length_s * 2 / 3)
    for call, values in sorted(by_call(book.calls).items(), key=lambda entry: -len(entry[1])):
        found = percentiles(values)
        table.add_row(
            call,
            f"{found.count:,}",
            f"{found.count / length_s:.2f}",
            *(f"{value:.1f}" for value in (found.p50, found.p95, found.p99)),
            *(f"{percentiles(part.get(call, [])).p95:.1f}" for part in (first, last)),
        )
    _CONSOLE.print(table)


def show_course(calls: Sequence[Timed], samples: Sequence[Sample], length_s: float) -> None:
    """The same over time."""
    table = Table(title="Over time")
    columns = ("until, s", "calls a second", "turn p50", "p95", "p99", "context p50", "p95", "p99")
    for column in (*columns, "due", "oldest due, s", "connections", "memory, MB", "database, MB"):
        table.add_column(column, justify="right")
    step = length_s / WINDOWS
    for number in range(WINDOWS):
        ends = (number + 1) * step
        grouped = by_call(one for one in calls if number * step <= one.at_s < ends)
        looks = [one for one in samples if number * step <= one.at_s < ends]
        if not looks:
            continue
        found = [percentiles(grouped.get(call, [])) for call in ("turn", "context")]
        times = [f"{value:.0f}" for one in found for value in (one.p50, one.p95, one.p99)]
        table.add_row(
            f"{ends:.0f}",
            f"{sum(map(len, grouped.values())) / step:.1f}",
            *times,
            f"{max(one.due for one in looks)}",
            f"{max(one.age_s for one in looks):.1f}",
            f"{max(one.connections for one in looks)}",
            f"{sum(looks[-1].memory_mb.values()):.0f}",
            f"{looks[-1].database_mb:.0f}",
        )
    _CONSOLE.print(table)


def show_growth(found: Sequence[Growth]) -> None:
    """What grows, how fast, and how sure that is."""
    table = Table(title="Growth an hour after the warm-up, with the ends of its 95 % interval")
    for column in ("what", "last", "an hour", "from", "to", "limit", "verdict"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for one in found:
        verdict = "grows" if one.is_too_much else "" if one.limit is None else "flat enough"
        table.add_row(
            one.what,
            f"{one.last:,.1f}",
            f"{one.slope.estimate:+,.1f}",
            *(f"{end:+,.1f}" if math.isfinite(end) else "?" for end in (one.slope.low, one.slope.high)),
            "" if one.limit is None else f"{one.limit:,.0f}",
            verdict if one.is_judged else "too short a run",
        )
    _CONSOLE.print(table)


def show_faults(faults: Sequence[str], statuses: Counter[tuple[str, int]], *, most: int = 20) -> None:
    """What was refused, as it should be, and what must not be."""
    refused = {
        f"{call} {status}": count for (call, status), count in sorted(statuses.items()) if status >= 400
    }
    print("Refused, as it should be, or counted among the faults:", refused or "nothing")
    for fault in faults[:most]:
        print(f"FAULT {fault}")
    if len(faults) > most:
        print(f"... and {len(faults) - most} more")
