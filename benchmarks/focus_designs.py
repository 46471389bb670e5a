"""Compare designs of summaries prepared ahead, over reads in later turns whose artifact does not fit whole.

Part of `python -m benchmarks.focus_hits`. The summarizer is scripted, and its summaries are extracts: gold is
looked for in words that stand in the window. A model with words of its own could keep more of a source in as
many tokens. The most that any model could keep stands beside as `lossless`: the gold in the stretches from
which the shown summaries were made. `must keep` is the share of it that a model must keep to pay.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.focus_data import SHARED, Mined
from benchmarks.focus_prepared import Answer, Design, Segments
from benchmarks.focus_reads import Read, Shown, cut_out

PRICES = (0.25, 0.06)
"""Price of a summarizer's token as a share of the answering model's: a usual pair, and the cheapest."""

GRID = (125, 250, 500, 1_000, 2_000, 4_000)
"""Sizes of extracts, to find the size with as much gold as a design shows."""

SEGMENT_TOKENS = (500, 1_000)
COVERED = (0.5, 0.7)
"""Choices of the design by segments: size, and the least share of the question that segments must cover."""


@dataclass(frozen=True)
class Outcome:
    """What came of a design on some reads; outcomes add up.

    Attributes:
        answers: The reads with their answers.
        made: Number of summaries.
        tokens: Tokens of the summarizer.
    """

    answers: tuple[tuple[Read, Answer], ...] = ()
    made: int = 0
    tokens: int = 0

    def __add__(self, other: "Outcome") -> "Outcome":
        """Join two outcomes."""
        return Outcome(self.answers + other.answers, self.made + other.made, self.tokens + other.tokens)


def replay(design: Design, reads: Sequence[Read]) -> Outcome:
    """Go through reads in order."""
    answers = tuple((read, design.read(read)) for read in reads)
    return Outcome(answers, design.made, design.tokens)


@cache
def gold_of(read: Read, shown: Shown) -> float:
    """Grade a shown text."""
    return read.gold_of(shown)


@cache
def extract_gold(read: Read, budget: int) -> float:
    """Grade an extract of a size; the read has gold."""
    return read.gold_of(cut_out(read.text, read.question, budget))


def extract_curve(reads: Sequence[Read]) -> list[tuple[float, float]]:
    """Measure extracts of growing sizes: the size, and the mean gold."""
    sizes = ((float(size), fmean(extract_gold(read, size) for read in reads)) for size in GRID)
    return [(0.0, 0.0), *sizes]


def size_for(curve: Sequence[tuple[float, float]], gold: float) -> float:
    """Find the size of extracts with as much gold, at most the largest measured."""
    for (small, less), (large, more) in pairwise(curve):
        if more >= gold:
            return small + (large - small) * (gold - less) / max(more - less, 1e-9)
    return curve[-1][0]


def gold_at(curve: Sequence[tuple[float, float]], size: float) -> float:
    """Find the gold in extracts of a size."""
    for (small, less), (large, more) in pairwise(curve):
        if size <= large:
            return less + (more - less) * (size - small) / (large - small)
    return curve[-1][1]


def row_of(design: str, data: str, outcome: Outcome) -> dict[str, Any]:
    """Sum up an outcome."""
    answers = outcome.answers
    hows = Counter(answer.how for _, answer in answers)
    hits, reads = hows["exact"] + hows["near"], max(len(answers), 1)
    row: dict[str, Any] = {
        "design": design,
        "data": data,
        "reads": len(answers),
        **{how: hows[how] / reads for how in ("exact", "near")},
        "exact_or_near": hits / reads,
        "made": outcome.made,
        "tokens": outcome.tokens,
        "made_tokens_a_hit": outcome.tokens / hits if hits else None,
    }
    served = [(read, answer.shown) for read, answer in answers if answer.shown]
    graded = [(read, shown) for read, shown in served if read.grade]
    return row | (_gold_row(graded, len(served), outcome.tokens) if graded else {"graded": 0})


def _gold_row(graded: Sequence[tuple[Read, Shown]], served: int, made: int) -> dict[str, Any]:
    """Compare what is shown with extracts: of the same size, of today's size, and with as much gold."""
    reads = [read for read, _ in graded]
    shown = fmean(each.tokens for _, each in graded)
    gold = fmean(gold_of(read, each) for read, each in graded)
    most = fmean(gold_of(read, source_of(read, each)) for read, each in graded)
    curve = extract_curve(reads)
    sizes = size_for(curve, gold), size_for(curve, most)
    return {
        "graded": len(graded),
        "shown": shown,
        "gold": gold,
        "extract_same": fmean(extract_gold(read, max(each.tokens, 8)) for read, each in graded),
        "extract_today": fmean(extract_gold(read, read.most_tokens) for read in reads),
        "gold_of_sources": most,
        "extract_as_much": sizes[0],
        "extract_as_sources": sizes[1],
        "net": [served * (sizes[0] - shown) - price * made for price in PRICES],
        "net_lossless": [served * (sizes[1] - shown) - price * made for price in PRICES],
        "keep": [
            gold_at(curve, shown + price * made / served) / most if most else math.inf for price in PRICES
        ],
    }


def source_of(read: Read, shown: Shown) -> Shown:
    """Show the stretches that a text was made of, as a summary without any loss would."""
    text = "\n".join(read.text.content[start:end] for start, end in shown.sources)
    return replace(shown, text=text, spans=shown.sources)


def mine_questions(reads: Iterable[Read]) -> Mined:
    """Count in each half the questions about the artifacts of a tool, asked in several sessions."""
    asked: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    sessions: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    words: dict[str, str] = {}
    for read in reads:
        key, where = read.focus.key, (read.half, read.text.tool)
        words.setdefault(key, read.question)
        if not read.focus.is_general:
            asked[where][key] += 1
            sessions[*where, key].add(read.session)
    return {
        where: [
            (words[key], count / counts.total())
            for key, count in counts.most_common()
            if len(sessions[*where, key]) >= SHARED
        ]
        for where, counts in asked.items()
    }


Choice = tuple[int, float]
Part = tuple[str, int]
"""A data set and a half."""


def compare(sets: Mapping[str, Sequence[Read]]) -> list[dict[str, Any]]:
    """Replay every design over every set, each half by itself."""
    parts: dict[Part, list[Read]] = defaultdict(list)
    for data, reads in sets.items():
        for read in reads:
            parts[data, read.half].append(read)
    mined = {data: mine_questions(reads) for data, reads in sets.items()}
    rows = []
    for name, options in _FIXED.items():
        outcomes = {part: replay(Design(mined[part[0]], **options), reads) for part, reads in parts.items()}
        rows += _rows(name, outcomes)
    by_choice = {
        (size, covered): {
            part: replay(Segments(mined[part[0]], size=size, covered=covered), reads)
            for part, reads in parts.items()
        }
        for size in SEGMENT_TOKENS
        for covered in COVERED
    }
    for left_out, is_other in _LEFT_OUT.items():
        chosen = {
            part: choose({choice: _sum(each, part, is_other) for choice, each in by_choice.items()})
            for part in parts
        }
        rows += _rows(
            f"B segments, {left_out} left out", {part: by_choice[chosen[part]][part] for part in parts}
        )
        rows[-1]["choices"] = {f"{data} {half}": chosen[data, half] for data, half in parts}
    return rows


_FIXED: Mapping[str, Mapping[str, Any]] = {
    "A general focus": {"limit": 1},
    "A all guesses": {},
    "C asked before": {"asked": True},
    "D nearest + extract": {"fills": True},
}
_LEFT_OUT = {
    "each set": lambda part, other: other[0] != part[0],
    "each half": lambda part, other: other[1] != part[1],
}


def _sum(outcomes: Mapping[Part, Outcome], part: Part, is_other: Callable[[Part, Part], bool]) -> Outcome:
    return sum((each for other, each in outcomes.items() if is_other(part, other)), Outcome())


def choose(outcomes: Mapping[Choice, Outcome]) -> Choice:
    """Choose the segments that cost least beside extracts with as much gold."""
    return max(outcomes, key=lambda choice: row_of("", "", outcomes[choice]).get("net", [-math.inf])[0])


def _rows(name: str, outcomes: Mapping[Part, Outcome]) -> list[dict[str, Any]]:
    sums = {
        data: sum((each for part, each in outcomes.items() if part[0] == data), Outcome())
        for data in dict.fromkeys(data for data, _ in outcomes)
    }
    everything = sum(outcomes.values(), Outcome())
    return [row_of(name, data, each) for data, each in (sums | {"all sets": everything}).items()]


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table of designs."""
    heads = ("data", "reads", "exact", "near", "exact+near", "made", "tokens", "a hit")
    golds = ("graded", "shown", "gold", "extract, same", "extract today", "lossless")
    priced = [f"{kind} at {price}" for kind in ("net", "lossless", "must keep") for price in PRICES]
    costs = ("extract, as much", "as lossless", *priced)
    table = Table(
        *heads, *golds, *costs, title="Designs: reads of later turns, artifacts that do not fit whole"
    )
    for row in rows:
        cells = [row["design"], row["data"], str(row["reads"])]
        cells += [f"{row[name]:.2f}" for name in ("exact", "near", "exact_or_near")]
        cells += [
            str(row["made"]),
            f"{row['tokens']:,}",
            _number(row["made_tokens_a_hit"]),
            str(row["graded"]),
        ]
        if row["graded"]:
            cells += [_number(row["shown"])]
            cells += [
                f"{row[name]:.3f}" for name in ("gold", "extract_same", "extract_today", "gold_of_sources")
            ]
            cells += [_number(row[name]) for name in ("extract_as_much", "extract_as_sources")]
            cells += [_number(net) for name in ("net", "net_lossless") for net in row[name]]
            cells += [f"{keep:.2f}" for keep in row["keep"]]
        table.add_row(*cells)
    Console(width=290).print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
