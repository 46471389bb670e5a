"""Measure context reads against a floor on the same server, and against the raw SELECT of the same bytes.

python -m benchmarks.context_read [--rounds 300] [--readers-s 10] [--before CHECKOUT] [--only first]
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.context_read import plain
from benchmarks.context_read.cases import prepare
from benchmarks.context_read.first import measure_first
from benchmarks.context_read.readers import READERS, measure_readers
from benchmarks.context_read.realistic import Samples, measure_cases, measure_cpu
from benchmarks.report import save

TENANTS = 3

REALISTIC = {
    "ours_ms": "ours",
    "floor_ms": "floor",
    "raw_ms": "raw SELECT",
    "of_floor": "ours / floor",
    "least_of_floor": "least / least",
    "of_raw": "ours / raw",
    "statements": "statements",
    "checkouts": "checkouts",
    "answer_kb": "answer, kB",
    "cpu_ms": "CPU, ms",
    "cpu_of_healthz": "CPU / healthz",
    "first_ms": "first",
    "first_of_warm": "first / warm",
}


def show_plain(console: Console, samples: dict[int, plain.Samples]) -> list[dict[str, Any]]:
    """Print the plain reads: flat in the length of history, and beside the floor."""
    table = Table(title="Plain read: server time, p50 (p99) in ms")
    names = ("messages", "ours", "floor", "raw SELECT", "ours / floor", "ours / raw", "against 100 messages")
    for column in names:
        table.add_column(column, justify="right")
    results = []
    base = statistics.median(samples[plain.SIZES[0]][0])
    for size, columns in samples.items():
        ours, floor, raw = (statistics.median(values) for values in columns)
        shown = [f"{statistics.median(v):.2f} ({statistics.quantiles(v, n=100)[98]:.2f})" for v in columns]
        table.add_row(f"{size:,}", *shown, f"{ours / floor:.2f}", f"{ours / raw:.2f}", f"{ours / base:.2f}")
        figures = {"ours_p50_ms": ours, "floor_p50_ms": floor, "raw_p50_ms": raw, "flatness": ours / base}
        results.append({"messages": size, **figures})
    console.print(table)
    return results


def show_realistic(console: Console, samples: dict[str, Samples]) -> dict[str, dict[str, Any]]:
    """Print the realistic reads, a column for each case."""
    table = Table(title="Realistic read: summary, artifacts, recall; server time, p50 in ms")
    table.add_column("figure")
    results = {name: one.numbers() for name, one in samples.items()}
    for name in results:
        table.add_column(name, justify="right")
    for key, title in REALISTIC.items():
        table.add_row(title, *(f"{numbers[key]:.2f}" for numbers in results.values()))
    console.print(table)
    return results


def show_first(console: Console, results: list[dict[str, Any]]) -> None:
    """Print the first read of each catalog beside the warm reads, a row for each state of the process."""
    table = Table(title="First read of a catalog in a fresh process: least of all starts, in ms")
    for column in ("state", "case", "format"):
        table.add_column(column)
    for column in ("first", "warm", "first / warm", "CPU, first", "CPU, warm", "CPU, first / warm"):
        table.add_column(column, justify="right")
    for one in results:
        state, case, wire, *numbers = one.values()
        table.add_row(state, case, wire, *(f"{number:.1f}" for number in numbers))
    console.print(table)


def show_cpu(console: Console, results: list[dict[str, Any]]) -> None:
    """Print the processor time of a call, a row for each case and checkout."""
    table = Table(title="Realistic read: processor time of a call, tasks after it included")
    for column in ("case", "checkout", "CPU, ms", "CPU / healthz"):
        table.add_column(column)
    for one in results:
        case, checkout, cpu_ms, of_healthz = one.values()
        table.add_row(case, checkout, f"{cpu_ms:.1f}", f"{of_healthz:.1f}")
    console.print(table)


def show_readers(console: Console, results: dict[str, dict[str, float]]) -> None:
    """Print the readers' figures, a column for each server."""
    table = Table(title=f"{READERS} readers of {TENANTS} tenants: closed loop, and open at 70 % of its rate")
    table.add_column("figure")
    for name in results:
        table.add_column(name, justify="right")
    for figure in next(iter(results.values())):
        table.add_row(figure, *(f"{one[figure]:.2f}" for one in results.values()))
    console.print(table)


def main() -> None:
    """Print the tables and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--readers-s", type=float, default=10)
    parser.add_argument("--before", type=Path, help="root of another checkout, read in the same way")
    parser.add_argument("--only", choices=("plain", "realistic", "cpu", "first", "readers"))
    parser.add_argument(
        "--starts", type=int, default=3, help="fresh processes for each figure of a first read"
    )
    given, console = parser.parse_args(), Console()
    results: dict[str, Any] = {}
    with Stack(roles=(*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER)) as stack:
        tenants = 1 if given.only in ("plain", "realistic", "cpu", "first") else TENANTS
        keys, after = prepare(stack, tenants) if given.only != "plain" else ([], 0)
        if given.only in (None, "plain"):
            results["plain"] = show_plain(console, plain.measure(stack, given.rounds))
        if given.only in (None, "realistic"):
            results["realistic"] = show_realistic(console, measure_cases(stack, after, given.rounds))
        if given.only in (None, "cpu"):
            results["cpu"] = measure_cpu(stack, given.before, max(given.rounds // 6, 20))
            show_cpu(console, results["cpu"])
        if given.only in (None, "first"):
            results["first"] = measure_first(stack, given.starts, given.before)
            show_first(console, results["first"])
        if given.only in (None, "readers"):
            results["readers"] = measure_readers(stack, keys, given.readers_s, given.before)
            show_readers(console, results["readers"])
    save("context_read", results)


if __name__ == "__main__":
    main()
