"""Measure what learning from past plans adds to ranking, from no history to all of it.

python -m benchmarks.priors [--most QUESTIONS]

Beside it stand plain BM25, plain BM25 with a naive vote of the 20 nearest past intents, and our ranking by
words alone. Recall@k is the share of a question's tools among the first k, averaged over the questions. The
constants were chosen on half 0 of the questions; half 1 shows whether they hold elsewhere.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.past_plans import (
    CUTS,
    FIRST_DAY,
    PastPlans,
    Ranker,
    as_plans,
    bm25_ranker,
    grade,
    nearest_ranker,
    read_past_plans,
)
from benchmarks.report import save
from context.catalog.types import Catalog, Entry, EntryKind
from context.priors.prior_set import PriorSet, make_prior_set
from context.priors.score import BoundPriors, bind_priors, score_priors
from context.priors.state import State, learn, see_catalog
from context.priors.types import JoinedPlan, ToolOutcome
from context.ranking.index import build_index
from context.ranking.rank import rank
from tests.data import DATA, read_jsonl

SIZES = {"metatool": (200, 600, 2_000, 12_189), "bfcl_live": (100, 300, 786)}
ORDERS = ("shuffled", "grouped")
WANTED = {
    ("metatool", 200, 5): 0.58,
    ("metatool", 600, 5): 0.74,
    ("metatool", 2_000, 5): 0.84,
    ("metatool", 12_189, 5): 0.91,
    ("metatool", 200, 1): 0.303,
    ("bfcl_live", 786, 1): 0.72,
    ("bfcl_live", 786, 5): 0.90,
}
NEW_SHARE = 10
"""One tool of so many is held out of history: it is added today."""
SPEED_TOOLS = 1_282
SPEED_PLANS = 12


def learned(
    data: PastPlans, rows: Sequence[Mapping[str, Any]], *, new: frozenset[str] = frozenset()
) -> PriorSet:
    """What a history teaches; the catalog is as it was before `new` was added."""
    state = State()
    see_catalog(state, {entry_id: FIRST_DAY for entry_id in data.ids if entry_id not in new})
    learn(state, as_plans(rows))
    return PriorSet.from_bytes(make_prior_set(state).to_bytes())


def our_ranker(data: PastPlans, bound: BoundPriors | None) -> Ranker:
    """Our ranking, with priors where there are any."""

    def ranked(intent: str) -> Sequence[str]:
        priors = score_priors(bound, intent) if bound else None
        entries = rank(data.index, intent, priors=priors, limit=CUTS[-1]).entries
        return [entry.entry_id for entry in entries if entry.score > 0.0]

    return ranked


def measure(data: PastPlans) -> Iterator[dict[str, Any]]:
    """Grade every method at every size of history, in both orders."""
    yield _row(data, "-", 0, "BM25", grade(bm25_ranker(data), data.questions))
    yield _row(data, "-", 0, "words", grade(our_ranker(data, None), data.questions))
    for order in ORDERS:
        rows = data.ordered(order)
        for size in SIZES[data.name]:
            if order == "shuffled":
                naive = grade(nearest_ranker(data, rows[:size]), data.questions)
                yield _row(data, order, size, "BM25 + 20 nearest", naive)
            bound = bind_priors(learned(data, rows[:size]), data.ids)
            yield _row(data, order, size, "words + priors", grade(our_ranker(data, bound), data.questions))


def _row(data: PastPlans, order: str, size: int, method: str, grades: dict[str, Any]) -> dict[str, Any]:
    ours = method == "words + priors" and order == "shuffled"
    wanted = [WANTED.get((data.name, size, cut)) for cut in CUTS] if ours else None
    return {"data": data.name, "order": order, "plans": size, "method": method, **grades, "wanted": wanted}


def measure_new(data: PastPlans, size: int) -> dict[str, Any]:
    """Hold a tenth of the tools out of history and grade the questions for them, and for the others."""
    new = frozenset(data.ids[::NEW_SHARE])
    rows = [row for row in data.ordered("shuffled")[:size] if not new.intersection(row["tools"])]
    bound = bind_priors(learned(data, rows, new=new), data.ids)
    asked = {
        "new": [question for question in data.questions if question.tools & new],
        "others": [question for question in data.questions if not question.tools & new],
    }
    return {
        "data": data.name,
        "plans": len(rows),
        "new_tools": len(new),
        **{
            f"{which} tools, {method}": grade(our_ranker(data, priors), questions)["all"]
            for which, questions in asked.items()
            for method, priors in (("words", None), ("words + priors", bound))
        },
    }


def measure_speed() -> dict[str, Any]:
    """Time ranking with and without priors, on a catalog of 1,282 tools that all have a history."""
    rows = [
        *read_jsonl(DATA / "livemcp" / "catalog.jsonl"),
        *read_jsonl(DATA / "docker_mcp" / "tools.jsonl"),
        *read_jsonl(DATA / "stabletoolbench" / "catalog.jsonl"),
    ][:SPEED_TOOLS]
    entries = [
        Entry(f"{at}:{row['name']}", EntryKind.PACK, row["name"], row.get("description") or "")
        for at, row in enumerate(rows)
    ]
    state = State()
    learn(state, (plan for entry in entries for plan in _uses(entry)))
    bound = bind_priors(make_prior_set(state), [entry.entry_id for entry in entries])
    index = build_index(Catalog(tuple(entries)))
    intents = [row["query"] for row in read_jsonl(DATA / "livemcp" / "eval.jsonl")]
    intents += [row["query"] for row in read_jsonl(DATA / "metatool" / "eval.jsonl")[:400]]
    times: dict[str, list[float]] = {"words": [], "priors alone": [], "words + priors": []}
    for intent in intents:
        began = time.perf_counter()
        rank(index, intent, limit=25)
        middle = time.perf_counter()
        priors = score_priors(bound, intent)
        scored = time.perf_counter()
        rank(index, intent, priors=priors, limit=25)
        ended = time.perf_counter()
        times["words"].append(middle - began)
        times["priors alone"].append(scored - middle)
        times["words + priors"].append(ended - middle)
    return {
        "tools": len(entries),
        "plans": state.plans,
        **{
            name: {"p50_ms": median(taken) * 1000, "p95_ms": quantiles(taken, n=20)[-1] * 1000}
            for name, taken in times.items()
        },
    }


def _uses(entry: Entry) -> Iterator[JoinedPlan]:
    """Some plans that name the tool by parts of its description."""
    words = f"{entry.name} {entry.description}".split()
    for number in range(SPEED_PLANS):
        said = words[number * 3 : number * 3 + 14] or words[:14]
        yield JoinedPlan(" ".join(said), [ToolOutcome(entry.entry_id, ok=True)], FIRST_DAY + number)


def show(results: dict[str, Any]) -> None:
    """Print the tables."""
    console = Console(width=140)
    columns = (
        "data",
        "order",
        "plans",
        "method",
        "@1",
        "@5",
        "@15",
        "half 0 @1/@5",
        "half 1 @1/@5",
        "wanted",
    )
    table = Table(*columns, title="Recall by size of history")
    for row in results["recall"]:
        halves = [" / ".join(f"{value:.3f}" for value in half[:2]) for half in row["halves"]]
        wanted = ", ".join(
            f"@{cut} {value}" for cut, value in zip(CUTS, row["wanted"] or (), strict=False) if value
        )
        numbers = [f"{value:.3f}" for value in row["all"]]
        table.add_row(
            row["data"], row["order"], f"{row['plans']:,}", row["method"], *numbers, *halves, wanted
        )
    console.print(table)
    table = Table("data", "plans", "questions for", "words", "words + priors", title="A tool added today")
    for row in results["new tools"]:
        for which in ("new", "others"):
            pair = [
                " / ".join(f"{value:.3f}" for value in row[f"{which} tools, {method}"])
                for method in ("words", "words + priors")
            ]
            table.add_row(row["data"], f"{row['plans']:,}", f"{which} tools", *pair)
    console.print(table)
    speed = results["speed"]
    table = Table("ranking", "p50 ms", "p95 ms", title=f"{speed['tools']:,} tools, {speed['plans']:,} plans")
    for name in ("words", "priors alone", "words + priors"):
        table.add_row(name, f"{speed[name]['p50_ms']:.3f}", f"{speed[name]['p95_ms']:.3f}")
    console.print(table)


def main() -> None:
    """Print the tables and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=None, help="The most questions of a data set.")
    most = parser.parse_args().most
    sets = {name: read_past_plans(name, most=most) for name in SIZES}
    results = {
        "recall": [row for data in sets.values() for row in measure(data)],
        "new tools": [
            measure_new(sets[name], size)
            for name, size in (("metatool", 600), ("metatool", 12_189), ("bfcl_live", 786))
        ],
        "speed": measure_speed(),
    }
    show(results)
    save("priors", results)


if __name__ == "__main__":
    main()
