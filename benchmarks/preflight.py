"""Measure preflight on messages of others: what it recognizes, what it hides, and whom that would harm.

python -m benchmarks.preflight

Beside it stands the plain table of keywords. A message is harmed where its gold category needs a tool that
was filtered away (`complex` needs all); what is saved is the share of tools removed on messages that are not
complex.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.ranking_data import SHELVES, read_shelf
from benchmarks.report import save
from context.preflight.choose_tools import MatchedTools, by_words
from context.preflight.config import TOOLS, PreflightRules
from context.preflight.decide import classify, decide, read_evidence
from context.preflight.lexicon import Signs, combined, find_signs
from context.preflight.types import Category
from context.ranking.rank import FIRST, count_near, rank
from tests.data import DATA, read_jsonl

WANTED_HARM, WANTED_SAVING = 0.03, 0.50
CONFIDENCES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
LENGTHS = (20, 60, 200, 1_000, 10_000)
LONG_CHARS = 300
MOST_TOOLS, BEST = 128, 8
_FORMS_OF = ("shape.", "attached.")
ROUNDS, BEST_OF = 200, 5

Answer = tuple[frozenset[str], frozenset[str] | None]
"""The categories, and the tools that stay; None for all."""


@dataclass(frozen=True)
class Asked:
    """A message and what it asks for: gold must be recognized, acceptable may be."""

    half: int
    text: str
    gold: frozenset[str]
    acceptable: frozenset[str]
    group: str
    source: str = ""


def half_of(name: str) -> int:
    """Which half of the data an id belongs to: one tuned the weights, the other checks."""
    return hashlib.sha256(name.encode()).digest()[-1] & 1


def labelled() -> list[Asked]:
    """Messages with the categories that their sources' labels stand for."""
    return [
        Asked(
            half_of(row["id"]),
            row["text"],
            frozenset(row["gold"]),
            frozenset(row["acceptable"]),
            "english",
            row["source"],
        )
        for row in read_jsonl(DATA / "preflight" / "messages.jsonl")
    ]


def multilingual() -> list[Asked]:
    """Prompts in other scripts, labelled as the same source is in the other file."""
    return [
        Asked(half_of(row["id"]), row["text"], _gold_of(row), frozenset(Category), row["lang"])
        for row in read_jsonl(DATA / "multilingual" / "prompts.jsonl")
    ]


def _gold_of(row: dict[str, Any]) -> frozenset[str]:
    is_long = len(row["text"]) > LONG_CHARS and row["subcategory"] != "creative_writing"
    coding = {"coding"} if row["subcategory"] == "coding" else set()
    return frozenset(coding | ({"complex"} if is_long else set()))


def _words(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_KEYWORDS = {
    "casual": _words("hey", "yo", "sup", "hi", "hello", "thanks", "how are you"),
    "research": _words(
        "search", "find", "look up", "what", "who", "where", "when", "why", "how", "explain", "compare"
    ),
    "coding": _words("code", "fix", "debug", "function", "error", "bug", "commit", "test", "build", "deploy"),
    "crypto": _words(
        "sol|eth|btc|swap|wallet|token|stake|defi|nft|mint|balance|transfer|solana|ethereum|bitcoin"
    ),
    "media": _words("image|picture|photo|draw|generate|speak|say|transcribe|listen|voice"),
    "monitoring": _words("status|health|gpu|vram|services|temperature|memory|disk|cpu|uptime"),
    "memory": _words(
        "remember", "recall", "last time", "you said", "we discussed", "earlier", "yesterday|before"
    ),
    "complex": _words("step by step", "and then", "plan", "analyze"),
}
_FORMS: dict[str, Callable[[str], bool]] = {
    "casual": lambda text: len(text) < 20 or len(text.split()) == 1,
    "research": lambda text: "?" in text or "http" in text,
    "coding": lambda text: "```" in text or re.search(r"\S\.\w", text) is not None,
    "crypto": lambda text: "$" in text,
    "complex": lambda text: (
        len(text) > 300 or text.count("?") >= 3 or re.search(r"(?m)^\d+[.)]", text) is not None
    ),
}


def by_table(text: str) -> Answer:
    """The table of keywords and forms, read literally."""
    found = frozenset(
        name
        for name, keywords in _KEYWORDS.items()
        if keywords.search(text) or (name in _FORMS and _FORMS[name](text))
    )
    if not found or "complex" in found:
        return found, None
    return found, frozenset(tool for name in found for tool in TOOLS[Category(name)])


def tool_names() -> list[str]:
    """The tools of an agent in use elsewhere, those of the table among them."""
    listed = json.loads((DATA / "helmdeck" / "openclaw_tools.json").read_text())
    return [tool["name"] for tool in listed["tools"]]


def by_preflight(tools: Sequence[str], config: PreflightRules) -> Callable[[str], Answer]:
    """Preflight as it is served."""

    def answer(text: str) -> Answer:
        found = classify(text, tools=tools, config=config)
        kept = None if found.tool_allowlist is None else frozenset(found.tool_allowlist)
        return frozenset(map(str, found.categories)), kept

    return answer


def grade(asked: Sequence[Asked], method: Callable[[str], Answer], tools: Sequence[str]) -> dict[str, Any]:
    """Count what a method recognizes, harms and saves."""
    answers = [(one, *method(one.text)) for one in asked]
    every = frozenset(tools)
    harmed = [
        not _needed(one, every) <= (every if kept is None else kept) for one, _, kept in answers if one.gold
    ]
    saved = [
        0.0 if kept is None else 1 - len(every & kept) / len(every)
        for one, _, kept in answers
        if "complex" not in one.gold
    ]
    return {
        "messages": len(answers),
        "harm": fmean(harmed),
        "saving": fmean(saved),
        "fallback": fmean(not found for _, found, _ in answers),
        "categories": {name: dict(_by_category(name, answers)) for name in Category},
    }


def _needed(one: Asked, every: frozenset[str]) -> frozenset[str]:
    if "complex" in one.gold:
        return every
    return frozenset(tool for name in one.gold for tool in TOOLS[Category(name)])


def _by_category(
    name: Category, answers: Sequence[tuple[Asked, frozenset[str], frozenset[str] | None]]
) -> Iterator[tuple[str, float | None]]:
    gold = [name in found for one, found, _ in answers if name in one.gold]
    right = [name in one.gold | one.acceptable for one, found, _ in answers if name in found]
    yield "gold", len(gold)
    yield "recall", fmean(gold) if gold else None
    yield "precision", fmean(right) if right else None


def left_out(asked: Sequence[Asked], tools: Sequence[str]) -> list[dict[str, Any]]:
    """Judge each source of messages by a lexicon that never saw it.

    The words that only messages of that source speak for are taken out of what is found in its messages: the
    lists were written with all sources in view.
    """
    signs = [(one, find_signs(one.text)) for one in asked]
    speakers: dict[tuple[str, str], set[str]] = {}
    for one, found in signs:
        for sign, texts in found.found.items():
            for text in texts:
                speakers.setdefault((sign, text), set()).add(one.source)
    rows = []
    for source in sorted({one.source for one in asked}):
        own = [(one, found) for one, found in signs if one.source == source]
        answers = {one.text: _unseen(found, speakers, source, tools) for one, found in own}
        messages = [one for one, _ in own]
        unseen = grade(messages, answers.__getitem__, tools)
        seen = grade(messages, by_preflight(tools, PreflightRules()), tools)
        rows.append(
            {
                "left out": source,
                "messages": len(messages),
                "gold": sum(bool(one.gold) for one in messages),
                "harm": unseen["harm"],
                "harm seen": seen["harm"],
                "saving": unseen["saving"],
                "saving seen": seen["saving"],
            }
        )
    return [*rows, _all_of(rows)]


def _all_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sources together: harm by messages with gold, saving by messages."""
    by = {"harm": "gold", "harm seen": "gold", "saving": "messages", "saving seen": "messages"}
    sums = {name: sum(row[name] for row in rows) for name in ("messages", "gold")}
    means = {name: sum(row[name] * row[of] for row in rows) / sums[of] for name, of in by.items()}
    return {"left out": "each in turn", **sums, **means}


def _unseen(
    signs: Signs, speakers: Mapping[tuple[str, str], set[str]], source: str, tools: Sequence[str]
) -> Answer:
    """Answer without the words that only this source speaks for; forms are no words, and stay."""
    bare = {}
    for sign, texts in signs.found.items():
        is_form = sign.startswith(_FORMS_OF)
        known = {text for text in texts if is_form or speakers[sign, text] != {source}}
        if known and not sign.startswith("both."):
            bare[sign] = known
    evidence = read_evidence(combined(replace(signs, found=bare)))
    found = decide(evidence, previous=None, tools=tools, pinned=(), config=PreflightRules())
    kept = None if found.tool_allowlist is None else frozenset(found.tool_allowlist)
    return frozenset(map(str, found.categories)), kept


def unknown_tools(name: str, beside: Sequence[str] = ()) -> dict[str, Any]:
    """Judge preflight on a catalog of tools that no category knows, alone or beside known tools.

    A request is harmed where a tool that it needs is left out and would have been among the first that a
    provider takes. Saved is the share of those tools that are left out.
    """
    shelf = read_shelf(name)
    every = [entry.entry_id for entry in shelf.catalog.entries]
    called = dict(zip(every, shelf.names, strict=True))
    known = PreflightRules().known_tools
    harm, saving, is_narrowed = [], [], []
    for request in shelf.requests:
        ranking = rank(shelf.index, request.text)
        first = [entry.entry_id for entry in ranking.entries[:MOST_TOOLS]]
        number = count_near(ranking)
        near = None if number is None else tuple(first[:number])
        best = tuple(
            entry.entry_id
            for entry in ranking.entries[:BEST]
            if entry.score > 0 and entry.entry_id not in known
        )
        found = classify(request.text, tools=[*every, *beside], pinned=best)
        matched = MatchedTools(best, near, tuple(first[:FIRST]))
        found = by_words(found, [*every, *beside], matched, pinned=best, known=known)
        kept = set(first).intersection(first if found.tool_allowlist is None else found.tool_allowlist)
        served, left = {called[each] for each in first}, {called[each] for each in kept}
        harm.append(request.tools <= served and not request.tools <= left)
        saving.append(1 - len(kept) / len(first))
        is_narrowed.append(found.tool_allowlist is not None)
    shares = {"narrowed": fmean(is_narrowed), "harm": fmean(harm), "saving": fmean(saving)}
    return {"data": name, "beside": " ".join(beside), "tools": len(every), "requests": len(harm), **shares}


def timings(tools: Sequence[str], texts: Sequence[str]) -> list[dict[str, Any]]:
    """Time one classification in microseconds, the first and the best of several: messages, then lengths."""
    stream = " ".join(texts)
    rows = [{"chars": f"messages, half below {median(map(len, texts)):.0f}", **_timed(texts, tools)}]
    for chars in LENGTHS:
        starts = (place * 997 % (len(stream) - chars) for place in range(ROUNDS))
        pieces = [stream[start : start + chars] for start in starts]
        rows.append({"chars": str(chars), **_timed(pieces, tools)})
    return rows


def _timed(texts: Sequence[str], tools: Sequence[str]) -> dict[str, float]:
    spent = [[_time(text, tools) for _ in range(BEST_OF)] for text in texts]
    return {
        **_percentiles("first", [times[0] for times in spent]),
        **_percentiles("best", [min(times) for times in spent]),
    }


def _time(text: str, tools: Sequence[str]) -> float:
    began = time.perf_counter()
    classify(text, tools=tools)
    return (time.perf_counter() - began) * 1e6


def _percentiles(name: str, spent_us: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(spent_us, n=100)
    return {f"{name}_p50_us": cuts[49], f"{name}_p99_us": cuts[98]}


def _share(value: float | None) -> str:
    """A share, or that there was nothing to take one of."""
    return "-" if value is None else f"{value:.2f}"


def print_quality(results: dict[str, dict[str, Any]]) -> None:
    """Print precision and recall by category, and the two numbers that matter, for each method and half."""
    table = Table("", *results, title="Preflight: precision / recall")
    for name in Category:
        cells = (result["categories"][name] for result in results.values())
        table.add_row(name, *(f"{_share(cell['precision'])} / {_share(cell['recall'])}" for cell in cells))
    for what, wanted in (("harm", f"<= {WANTED_HARM}"), ("saving", f">= {WANTED_SAVING}"), ("fallback", "")):
        table.add_row(f"{what} {wanted}", *(f"{result[what]:.3f}" for result in results.values()))
    Console().print(table)


def print_rows(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print numbers that go together."""
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)


def main() -> None:
    """Print the tables and keep the numbers."""
    tools, asked = tool_names(), labelled()
    halves = [[one for one in asked if one.half == half] for half in (0, 1)]
    ours = by_preflight(tools, PreflightRules())
    quality = {
        "table": grade(asked, by_table, tools),
        "ours": grade(asked, ours, tools),
        "ours, tuned on": grade(halves[0], ours, tools),
        "ours, untouched": grade(halves[1], ours, tools),
        "other scripts": grade(multilingual(), ours, tools),
        "table, other scripts": grade(multilingual(), by_table, tools),
    }
    print_quality(quality)
    unseen = left_out(asked, tools)
    print_rows("Harm and saving of each source, by words that other sources speak for", unseen)
    unknown = [unknown_tools(name, beside) for name in SHELVES for beside in ((), ("read", "exec"))]
    print_rows(f"Catalogs of unknown tools, beside the first {MOST_TOOLS} by rank", unknown)
    curve = []
    for least in CONFIDENCES:
        graded = [
            grade(half, by_preflight(tools, PreflightRules(min_confidence=least)), tools) for half in halves
        ]
        curve.append(
            {"min_confidence": least}
            | {f"{what} {half}": graded[half][what] for half in (0, 1) for what in ("harm", "saving")}
        )
    print_rows("Harm and saving, by half, as preflight gets more careful", curve)
    spent = timings(tools, [one.text for one in asked])
    print_rows("One classification", spent)
    save(
        "preflight",
        {"quality": quality, "left_out": unseen, "unknown": unknown, "curve": curve, "timings": spent},
    )


if __name__ == "__main__":
    main()
