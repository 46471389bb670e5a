"""Measure what compaction leaves of real catalogs, beside cutting their text off where the budget ends.

python -m benchmarks.compaction [--door 80]

For each tier: bytes, tokens, entries shown, whether it is still JSON, the share of the needed tools that the
model gets to see, and the time of ranking and fitting together.

With `--door`, catalogs are put into a running stack, and so many questions of each ask for it in tier C. Each
shown text is read back as a catalog and ranked by words, beside whole entries of the same ranking.
"""

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
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

SMALL_MODEL = "some-small-model"
"""A model without a profile: tier C."""

CUTS = (1, 5, 15, 1_000)

MOST_INTENT_CHARS = 4_000
"""A small model's window holds a catalog beside so long a question."""

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
    """Measure at the door of a stack, or the functions alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--door", type=int, default=0, help="questions of each catalog to ask over HTTP")
    options = parser.parse_args()
    if options.door:
        measure_at_the_door(options.door)
    else:
        measure_functions()


def measure_functions() -> None:
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


def measure_at_the_door(most: int) -> None:
    """Ask a running stack for each catalog in tier C, print the table and write the numbers."""
    table = Table("catalog", "entries", "form", "bytes", "shown", *(f"needed @{cut}" for cut in CUTS))
    results = []
    with (
        Stack(roles=(*SERVERS, StackRole.API)) as stack,
        httpx.Client(
            base_url=stack.at.base_url, headers={"Authorization": f"Bearer {stack.at.api_key}"}, timeout=60
        ) as client,
    ):
        for case in cases():
            if case.questions:
                asked = replace(case, questions=case.questions[:most])
                results += ask_for(client, asked)
    for row in results:
        recall = (f"{value:.3f}" for value in row["recall"])
        columns = (row["catalog"], row["entries"], row["form"], f"{row['bytes']:,.0f}", f"{row['shown']:.0f}")
        table.add_row(*map(str, columns), *recall)
    Console(width=160).print(table)
    print(f"written to {save('compaction-door', results)}")


def ask_for(client: httpx.Client, case: Case) -> list[dict[str, Any]]:
    """Grade one catalog as it is served, and as whole entries of the served ranking, in the same bytes."""
    place = f"/v1/catalogs/{case.name.replace(' ', '-')}"
    client.put(place, json=project_catalog(case.catalog)).raise_for_status()
    texts = defaultdict[str, list[str]](list)
    for question in case.questions:
        intent = question.text[:MOST_INTENT_CHARS]
        wanted = {"model": SMALL_MODEL, "intent": intent}
        served = client.post(f"{place}/compact", json=wanted).raise_for_status().json()["catalog"]
        texts["as served"].append(canonical_json(served))
        ranked = client.post(f"{place}/rank", json={"intent": intent}).raise_for_status().json()
        texts["whole entries"].append(whole_entries(case.catalog, [each["id"] for each in ranked["entries"]]))
    if not all(fits_in(text, TIERS["C"][0]) for forms in texts.values() for text in forms):
        sys.exit(f"{case.name}: over budget")
    return [grade(case, form, shown) for form, shown in texts.items()]


def whole_entries(catalog: Catalog, ranked_ids: Sequence[str]) -> str:
    """Write the first entries of a ranking that fit whole; the text."""
    entries = {entry.entry_id: entry for entry in catalog.entries}
    chosen, budget = Catalog((), catalog.packs_key), TIERS["C"][0]
    for entry_id in ranked_ids:
        more = replace(chosen, entries=(*chosen.entries, entries[entry_id]))
        if not fits_in(canonical_json(project_catalog(more)), budget):
            break
        chosen = more
    return canonical_json(project_catalog(chosen))


def grade(case: Case, form: str, texts: Sequence[str]) -> dict[str, Any]:
    """Rank each shown text by the words of its question, and find the needed tools."""
    names = {entry.entry_id: entry.name for entry in case.catalog.entries}
    ranked = []
    for question, text in zip(case.questions, texts, strict=True):
        index = build_index(read_catalog(as_document(json.loads(text))))
        ranked.append([entry.entry_id for entry in rank(index, question.text).entries])
    shown = {cut: [{*ids[:cut], *(names[each] for each in ids[:cut])} for ids in ranked] for cut in CUTS}
    return {
        "catalog": case.name,
        "entries": len(case.catalog.entries),
        "form": form,
        "bytes": median(len(text.encode()) for text in texts),
        "shown": median(map(len, ranked)),
        "recall": [seen(case.questions, shown[cut]) for cut in CUTS],
    }


def as_document(shown: dict[str, Any]) -> dict[str, Any]:
    """Bring a shown catalog back into a document: without its notes, and with lists for steps in one line."""
    document = {key: value for key, value in shown.items() if isinstance(value, list)}
    for pipeline in document.get("pipelines", ()):
        if not isinstance(pipeline.get("steps"), list):
            pipeline["steps"] = []
    return document


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
