"""Measure what compaction leaves of real catalogs, beside cutting their text off where the budget ends.

python -m benchmarks.compaction

For each tier: bytes, tokens, entries shown, whether it is still JSON, the share of the needed tools that the
model gets to see, and the time of ranking and fitting together.
"""

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.report import save
from benchmarks.whole_catalog import project_catalog
from context.catalog.compact import Ladder
from context.catalog.fit import Fitted, fit_catalog
from context.catalog.read import read_catalog
from context.catalog.types import Catalog, CatalogBudget, Size, canonical_json
from context.ranking.index import build_index
from context.ranking.rank import rank
from context.tokens import count_text
from tests.data import DATA, read_jsonl

MOST_QUESTIONS = 80
TIERS = {
    "A": (CatalogBudget(150_000), None),
    "B": (CatalogBudget(26_000, 22_000), 25),
    "C": (CatalogBudget(12_000, 10_000), 12),
}
"""What a catalog may take of each tier, and how many entries of one that does not fit are shown."""

_NAMED = re.compile(r'"(?:id|name|title)":"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Question:
    """What somebody wants, and the tools that it took."""

    text: str
    tools: frozenset[str]


@dataclass(frozen=True)
class Case:
    """A catalog with questions to it."""

    name: str
    catalog: Catalog
    questions: Sequence[Question]


def main() -> None:
    """Print the table and write the numbers."""
    table = Table(
        *("catalog", "entries", "tier", "bytes", "tokens", "shown", "dropped", "needed seen", "ms"),
        *("cut off: whole entries", "JSON", "needed seen"),
    )
    results = [measure(case, tier) for case in cases() for tier in TIERS]
    for row in results:
        table.add_row(
            row["catalog"],
            str(row["entries"]),
            row["tier"],
            f"{row['before_bytes']:,} -> {row['after_bytes']:,.0f}",
            f"{row['before_tokens']:,} -> {row['after_tokens']:,.0f}",
            f"{row['shown']:.0f}",
            ", ".join(row["dropped"]) or "-",
            share(row["needed_seen"]),
            f"{row['p50_ms']:.1f} (first {row['first_ms']:.0f})",
            str(row["cut_entries"]),
            "yes" if row["cut_is_json"] else "no",
            share(row["cut_needed_seen"]),
        )
    Console(width=240).print(table)
    print(f"written to {save('compaction', results)}")


def share(value: float | None) -> str:
    """A share for people; none where nothing was asked."""
    return "-" if value is None else f"{value:.2f}"


def cases() -> Iterator[Case]:
    """The catalogs of the data that is there."""
    guides = {"helmdeck": "routing_guide.json", "helmdeck before": "routing_guide_adr050.json"}
    for name, file in guides.items():
        catalog = read_catalog(json.loads((DATA / "helmdeck" / file).read_text()))
        yield Case(name, catalog, questions("helmdeck/prompts.jsonl"))
    lists = {
        "livemcp": ("livemcp/catalog.jsonl", "livemcp/eval.jsonl"),
        "docker_mcp": ("docker_mcp/tools.jsonl", None),
        "bfcl_live": ("bfcl_live/catalog.jsonl", "bfcl_live/eval.jsonl"),
        "stabletoolbench": ("stabletoolbench/catalog.jsonl", "stabletoolbench/eval.jsonl"),
    }
    together: list[dict[str, Any]] = []
    for name, (tools, asked) in lists.items():
        read = read_jsonl(DATA / tools)
        together += [{**tool, "server": f"{name}-{tool.get('server', '')}"} for tool in read]
        yield Case(name, read_catalog(read), questions(asked) if asked else ())
    copies = [{**tool, "name": f"{tool['name']}_{copy}"} for copy in range(2) for tool in together]
    yield Case("all, three times", read_catalog([*together, *copies]), ())


def questions(path: str) -> list[Question]:
    """The questions of a data set, its first ones; a tool's name that gives the answer away is taken out."""
    rows = read_jsonl(DATA / path)[:MOST_QUESTIONS]
    return [
        Question(row.get("query_tool_name_removed") or row["query"], frozenset(row["tools"])) for row in rows
    ]


def measure(case: Case, tier: str) -> dict[str, Any]:
    """Fit one catalog for one tier, once a question."""
    budget, top_n = TIERS[tier]
    index, ladder = build_index(case.catalog), Ladder(case.catalog, Ladder(case.catalog).whole)
    asked = case.questions or [Question("list the open issues of a repository", frozenset())]

    def fit(question: Question) -> tuple[Fitted, float]:
        started = time.perf_counter()
        ranked = [entry.entry_id for entry in rank(index, question.text).entries]
        fitted = fit_catalog(ladder, budget, ranked_ids=ranked, top_n=top_n)
        return fitted, (time.perf_counter() - started) * 1000

    first_ms = fit(asked[0])[1]
    runs = [fit(question) for question in asked]
    fits = [fitted for fitted, _ in runs]
    if not all(fits_in(fitted.text, budget) for fitted in fits):
        sys.exit(f"{case.name}, tier {tier}: over budget")
    names = {entry.entry_id: entry.name for entry in case.catalog.entries}
    shown = [{*fitted.shown, *(names[entry_id] for entry_id in fitted.shown)} for fitted in fits]
    cut = cut_off(case.catalog, budget)
    cut_names = set(_NAMED.findall(cut)) & {*names, *names.values()}
    return {
        "catalog": case.name,
        "entries": len(case.catalog.entries),
        "tier": tier,
        "before_bytes": ladder.whole.bytes,
        "before_tokens": ladder.whole.tokens,
        "after_bytes": median(fitted.compaction.after_bytes for fitted in fits),
        "after_tokens": median(fitted.compaction.after_tokens for fitted in fits),
        "shown": median(len(fitted.shown) for fitted in fits),
        "dropped": list(fits[0].compaction.dropped),
        "needed_seen": seen(case.questions, shown),
        "p50_ms": median(spent for _, spent in runs),
        "worst_ms": max(spent for _, spent in runs),
        "first_ms": first_ms,
        "cut_entries": len(cut_names & names.keys()),
        "cut_is_json": is_json(cut),
        "cut_needed_seen": seen(case.questions, [cut_names] * len(case.questions)),
    }


def fits_in(text: str, budget: CatalogBudget) -> bool:
    """Whether a text is within a budget, counted anew and whole."""
    return budget.holds(Size(len(text.encode()), count_text(text)))


def cut_off(catalog: Catalog, budget: CatalogBudget) -> str:
    """The same catalog, its text cut off where the budget ends; four bytes a token where none are named."""
    text = canonical_json(project_catalog(catalog)).encode()
    return text[: budget.bytes or budget.tokens * 4].decode(errors="ignore")


def is_json(text: str) -> bool:
    """Whether a reader of JSON takes it."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def seen(questions: Sequence[Question], shown: Sequence[set[str]]) -> float | None:
    """The share of needed tools that are shown, over all questions; None without questions."""
    if not questions:
        return None
    pairs = zip(questions, shown, strict=True)
    return fmean(
        len(question.tools & names) / len(question.tools) for question, names in pairs if question.tools
    )


if __name__ == "__main__":
    main()
