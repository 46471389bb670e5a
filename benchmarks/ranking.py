"""Measure ranking by words alone: is the right tool among the first, is a gap seen, and in what time?

python -m benchmarks.ranking

Recall at k is the share of a request's tools among the first k entries, averaged over the requests; a tool
that stands on two servers counts as found by either. Beside it stands plain BM25 over names and descriptions.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import fmean, median, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.past_plans import Bm25
from benchmarks.ranking_data import (
    SHELVES,
    Case,
    Request,
    Shelf,
    read_shelf,
    single_cases,
    taken_cases,
    turn_cases,
)
from benchmarks.report import save
from context.catalog.types import Catalog, Entry
from context.ranking.index import build_index
from context.ranking.rank import find_former, rank

CUTS = (1, 5, 15)
WANTED = {
    ("metatool", 5): 0.55,
    ("bfcl_live", 5): 0.72,
    ("stabletoolbench", 5): 0.72,
    ("livemcp + docker_mcp", 15): 0.6,
}
SIZES = (1_282, 10_000)
TIMED_REQUESTS = 60
TRIES = 5
FITS = (0.4, 0.5, 0.55, 0.57, 0.6, 0.64, 0.67, 0.7)
IN_FORCE = "in force"
"""The bounds of `context.ranking.rank`: one for a few entries, another for more."""
TAKEN = ("metatool", "stabletoolbench", "livemcp + docker_mcp", "bfcl_multi_turn")

Ranker = Callable[[str], Sequence[int]]
"""A request in, places of the first entries out, best first."""


def bm25_ranker(texts: Sequence[str]) -> Ranker:
    """Plain BM25."""
    index = Bm25(texts)

    def ranked(text: str) -> Sequence[int]:
        scores = index.scores(text)
        return sorted(scores, key=lambda place: (-scores[place], place))[: CUTS[-1]]

    return ranked


def our_ranker(catalog: Catalog) -> Ranker:
    """Ours, over the whole catalog; the first entries are read."""
    index = build_index(catalog)

    def ranked(text: str) -> Sequence[int]:
        return [index.place_of[entry.entry_id] for entry in rank(index, text).entries[: CUTS[-1]]]

    return ranked


def recall(ranker: Ranker, names: Sequence[str], requests: Iterable[Request]) -> list[float]:
    """Recall at each cut."""
    found = []
    for request in requests:
        first = [names[place] for place in ranker(request.text)]
        found.append([len(request.tools.intersection(first[:cut])) / len(request.tools) for cut in CUTS])
    return [fmean(column) for column in zip(*found, strict=True)]


def grade_shelf(shelf: Shelf) -> list[dict[str, Any]]:
    """Grade both rankers, on all requests and on each half."""
    rows = []
    for name, ranker in (("BM25", bm25_ranker(shelf.texts)), ("ours", our_ranker(shelf.catalog))):
        halves = [[each for each in shelf.requests if each.half == half] for half in (0, 1)]
        row = {"data": shelf.name, "tools": len(shelf.names), "requests": len(shelf.requests), "method": name}
        row["recall"] = recall(ranker, shelf.names, shelf.requests)
        row["halves"] = [recall(ranker, shelf.names, half) for half in halves]
        rows.append(row)
    return rows


def time_ranker(ranker: Ranker, requests: Sequence[Request]) -> dict[str, float]:
    """Time each request, the fastest of a few tries, in milliseconds: what else runs is not counted."""
    times = []
    for request in requests:
        tries = []
        for _ in range(TRIES):
            began = time.perf_counter()
            ranker(request.text)
            tries.append(time.perf_counter() - began)
        times.append(min(tries) * 1000)
    return {"p50_ms": median(times), "p95_ms": quantiles(times, n=20)[-1]}


def enlarge(shelves: Sequence[Shelf], size: int) -> tuple[Catalog, list[str]]:
    """Put all catalogs into one, and repeat them under other names until it is so large."""
    every = [
        (entry, text)
        for shelf in shelves
        for entry, text in zip(shelf.catalog.entries, shelf.texts, strict=True)
    ]
    pairs = [(_renamed(*every[at % len(every)], at // len(every), at)) for at in range(size)]
    return Catalog(tuple(entry for entry, _ in pairs)), [text for _, text in pairs]


def _renamed(entry: Entry, text: str, lap: int, at: int) -> tuple[Entry, str]:
    group = f"{entry.group}{lap}" if entry.group else ""
    return replace(entry, entry_id=f"{entry.entry_id}{at}", group=group), text


def measure_speed(shelves: Sequence[Shelf]) -> list[dict[str, Any]]:
    """Time both rankers on a catalog of servers and on a large one."""
    servers = [shelf for shelf in shelves if "livemcp" in shelf.name]
    rows = []
    for size, source in zip(SIZES, (servers, shelves), strict=True):
        tools, entries = enlarge(source, size)
        requests = [request for shelf in source for request in shelf.requests[:TIMED_REQUESTS]]
        began = time.perf_counter()
        index = our_ranker(tools)
        build_s = time.perf_counter() - began
        for name, ranker in (("BM25", bm25_ranker(entries)), ("ours", index)):
            row = {"tools": len(entries), "method": name, **time_ranker(ranker, requests)}
            rows.append({**row, "build_s": build_s if name == "ours" else None})
    return rows


def measure_gaps(name: str, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Grade the verdict in force, and at one bound for all catalogs: a gap is what fits less."""
    verdicts = [rank(case.index, case.text, limit=1).gap for case in cases]
    fits = [verdict.fit for verdict in verdicts]
    in_force = _grade_gaps(name, IN_FORCE, [verdict.is_gap for verdict in verdicts], cases)
    return [in_force] + [_grade_gaps(name, bound, [fit < bound for fit in fits], cases) for bound in FITS]


def measure_former(name: str, cases: Sequence[Case]) -> dict[str, Any]:
    """Grade what is known of an earlier version: a gap is what a tool of it would serve."""
    missed = [case.former is not None and find_former(case.former, case.text) is not None for case in cases]
    return _grade_gaps(name, "version before", missed, cases)


def _grade_gaps(name: str, bound: float | str, said: Sequence[bool], cases: Sequence[Case]) -> dict[str, Any]:
    verdicts = [(one, case.is_gap, case.half) for one, case in zip(said, cases, strict=True)]
    grades = [
        _grade([(one, is_gap) for one, is_gap, half in verdicts if half in halves])
        for halves in ({0, 1}, {0}, {1})
    ]
    return {"data": name, "bound": bound, "all": grades[0], "halves": grades[1:]}


def _grade(verdicts: Sequence[tuple[bool, bool]]) -> dict[str, float]:
    said = [is_gap for one, is_gap in verdicts if one]
    gaps = sum(is_gap for _, is_gap in verdicts)
    return {
        "precision": sum(said) / len(said) if said else 1.0,
        "recall": sum(said) / gaps,
        "false_alarms": (len(said) - sum(said)) / (len(verdicts) - gaps),
    }


def _print_recall(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(
        "data", "tools", "requests", "method", *(f"@{cut}" for cut in CUTS), "half 0", "half 1", "wanted"
    )
    for row in rows:
        halves = [" ".join(f"{value:.3f}" for value in half) for half in row["halves"]]
        wanted = " ".join(
            f"@{cut} {WANTED[row['data'], cut]}" for cut in CUTS if (row["data"], cut) in WANTED
        )
        counts = [row["data"], str(row["tools"]), str(row["requests"]), row["method"]]
        table.add_row(*counts, *(f"{value:.3f}" for value in row["recall"]), *halves, wanted)
    Console(width=150).print(table)


def _print_speed(rows: Sequence[dict[str, Any]]) -> None:
    table = Table("tools", "method", "p50 ms", "p95 ms", "index built in s", title="Time of one request")
    for row in rows:
        built = f"{row['build_s']:.1f}" if row["build_s"] else ""
        table.add_row(str(row["tools"]), row["method"], f"{row['p50_ms']:.2f}", f"{row['p95_ms']:.2f}", built)
    Console(width=150).print(table)


def _print_gaps(rows: Sequence[dict[str, Any]]) -> None:
    table = Table("data", "bound", "precision", "recall", "false alarms", "half 0", "half 1", title="Gaps")
    for row in rows:
        halves = [f"{half['precision']:.3f} {half['recall']:.3f}" for half in row["halves"]]
        numbers = [f"{row['all'][key]:.3f}" for key in ("precision", "recall", "false_alarms")]
        table.add_row(row["data"], str(row["bound"]), *numbers, *halves)
    Console(width=150).print(table)


def main() -> None:
    """Print the tables and keep the numbers."""
    shelves = [read_shelf(name) for name in SHELVES]
    graded = [row for shelf in shelves for row in grade_shelf(shelf)]
    _print_recall(graded)
    turns = list(turn_cases())
    gaps = [
        *measure_gaps("bfcl_live", list(single_cases())),
        *measure_gaps("bfcl_multi_turn", turns),
        measure_former("bfcl_multi_turn", turns),
        *(row for name in TAKEN for row in measure_gaps(f"{name}, taken away", list(taken_cases(name)))),
    ]
    _print_gaps(gaps)
    speed = measure_speed(shelves)
    _print_speed(speed)
    save("ranking", {"recall": graded, "gaps": gaps, "speed": speed})


if __name__ == "__main__":
    main()
