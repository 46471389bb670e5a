"""Measure extracts of long texts: is what a question needs in them, how near are they to people's answers?

python -m benchmarks.extracts

Beside them stand the beginning of the text, and plain BM25 over its turns or paragraphs.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.recall import bm25, half_of, pack
from benchmarks.report import save
from benchmarks.rouge import rouge_l, rouge_n, words_of
from context.artifacts.types import ContentKind
from context.extract import Extract, PassageIndex, extract
from context.tokens.text import count_text
from tests.data import DATA, read_jsonl

MEETING_TOKENS = (1000, 2000, 4000)
STORY_TOKENS = (250, 500, 1000)
ROUGE = ("R1 mean", "R2 mean", "RL mean", "R1 best", "R2 best", "RL best")
HEAD, BM25, OURS = "head", "BM25", "extract"

Span = tuple[int, int]


@dataclass(frozen=True)
class Document:
    """A text, the units that plain methods choose from, and its index, through its bytes."""

    text: str
    units: list[str]
    spans: list[Span]
    tokens: list[int]
    index: PassageIndex

    @classmethod
    def of(cls, units: Sequence[str], join: str) -> "Document":
        """Join units to a text."""
        text = join.join(units)
        spans, at = [], 0
        for unit in units:
            spans.append((at, at + len(unit)))
            at += len(unit) + len(join)
        index = PassageIndex.from_bytes(PassageIndex.build(text, ContentKind.TEXT).to_bytes())
        return cls(text, list(units), spans, [count_text(unit) for unit in units], index)


@dataclass(frozen=True)
class Question:
    """A question about a document, and how to grade what is shown of it."""

    half: int
    document: Document
    text: str
    grade: Callable[[Sequence[Span]], list[float]]


def meetings() -> Iterator[Question]:
    """Questions about meetings: the share of the gold span's tokens that is shown."""
    for meeting in read_jsonl(DATA / "qmsum" / "meetings.jsonl.gz"):
        document = Document.of([f"{speaker}: {words}" for speaker, words in meeting["turns"]], "\n")
        for asked in meeting["specific"]:
            gold = sorted({turn for first, last in asked["spans"] for turn in range(first, last + 1)})
            yield Question(half_of(meeting["id"]), document, asked["query"], by_span(document, gold))


def by_span(document: Document, gold: Sequence[int]) -> Callable[[Sequence[Span]], list[float]]:
    """Grade by tokens of the gold turns; of a turn that is shown in part, by characters."""
    total = sum(document.tokens[turn] for turn in gold)

    def grade(shown: Sequence[Span]) -> list[float]:
        found = 0.0
        for turn in gold:
            start, end = document.spans[turn]
            seen = sum(max(0, min(end, b) - max(start, a)) for a, b in shown)
            found += document.tokens[turn] * seen / max(end - start, 1)
        return [found / total]

    return grade


def stories() -> Iterator[Question]:
    """Questions about stories: what an extract shares with the answers of four people."""
    for story in read_jsonl(DATA / "squality" / "stories.jsonl.gz"):
        units = [part.strip() for part in re.split(r"\n\s*\n", story["document"]) if part.strip()]
        document = Document.of(units, "\n\n")
        for asked in story["questions"]:
            answers = [words_of(response["text"]) for response in asked["responses"]]
            yield Question(half_of(story["id"]), document, asked["question"], by_rouge(document, answers))


def by_rouge(document: Document, answers: Sequence[Sequence[str]]) -> Callable[[Sequence[Span]], list[float]]:
    """Grade by ROUGE F1 against each answer: the mean, and the best. Marks are paid for, not graded."""

    def grade(shown: Sequence[Span]) -> list[float]:
        words = words_of("\n".join(document.text[a:b] for a, b in shown))
        rows = [
            (rouge_n(words, answer, 1), rouge_n(words, answer, 2), rouge_l(words, answer))
            for answer in answers
        ]
        return [*map(fmean, zip(*rows, strict=True)), *map(max, zip(*rows, strict=True))]

    return grade


def by_head(question: Question, budget: int) -> list[Span]:
    """The beginning, to the last word that fits."""
    text, low, high = question.document.text, 0, len(question.document.text)
    while high - low > 1:
        middle = (low + high) // 2
        if count_text(text[:middle]) <= budget:
            low = middle
        else:
            high = middle
    return [(0, low)]


def by_bm25(question: Question, budget: int) -> list[Span]:
    """Plain BM25 over whole turns or paragraphs."""
    document = question.document
    scores = bm25(question.text, document.units)
    order = sorted(range(len(scores)), key=lambda unit: -scores[unit])
    return [document.spans[unit] for unit in sorted(pack(order, document.tokens, budget))]


def by_extract(question: Question, budget: int) -> list[Span]:
    """An extract, its marks included in the budget."""
    return [(place.start, place.end) for place in make_extract(question, budget).places]


def make_extract(question: Question, budget: int) -> Extract:
    """The extract itself; the budget holds."""
    made = extract(question.document.text, question.document.index, question.text, budget_tokens=budget)
    if made.tokens > budget or made.tokens != count_text(made.text):
        raise AssertionError(f"{made.tokens} tokens in a budget of {budget}")
    return made


METHODS = {HEAD: by_head, BM25: by_bm25, OURS: by_extract}


def measure(data: str, questions: Sequence[Question], budgets: Sequence[int]) -> list[dict[str, Any]]:
    """Grade every method at every budget, over all questions and over each half."""
    rows = []
    for budget in budgets:
        for name, method in METHODS.items():
            grades: dict[int, list[list[float]]] = defaultdict(list)
            times = []
            for question in questions:
                began = time.perf_counter()
                shown = method(question, budget)
                times.append((time.perf_counter() - began) * 1000)
                grades[question.half].append(question.grade(shown))
            rows.append(
                {
                    "data": data,
                    "budget_tokens": budget,
                    "method": name,
                    "questions": len(questions),
                    "all": means(grades[0] + grades[1]),
                    "halves": [means(grades[0]), means(grades[1])],
                    "p50_ms": median(times),
                }
            )
    return rows


def means(rows: Sequence[Sequence[float]]) -> list[float]:
    """Column by column."""
    return [fmean(column) for column in zip(*rows, strict=True)]


def show(title: str, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    """Print one table: all questions, and each half where there is one number alone."""
    heads = [*names, "half 0", "half 1"] if len(names) == 1 else names
    table = Table("tokens", "method", *heads, "p50 ms", title=title)
    for row in rows:
        values = [*row["all"], *(half[0] for half in row["halves"])] if len(names) == 1 else row["all"]
        shown = [f"{value:.3f}" for value in values]
        table.add_row(str(row["budget_tokens"]), row["method"], *shown, f"{row['p50_ms']:.1f}")
    Console().print(table)


def not_beaten(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> list[str]:
    """Name every number, of all questions and of each half, in which a plain method is as good."""
    found = []
    ours = {row["budget_tokens"]: row for row in rows if row["method"] == OURS}
    for row in rows:
        budget = row["budget_tokens"]
        mine = ours[budget]
        if row["method"] == OURS:
            continue
        for part, (theirs, own) in {
            "all": (row["all"], mine["all"]),
            "half 0": (row["halves"][0], mine["halves"][0]),
            "half 1": (row["halves"][1], mine["halves"][1]),
        }.items():
            found += [
                f"{row['data']} at {budget}, {part}: {name} of {row['method']} {a:.4f}, ours {b:.4f}"
                for name, a, b in zip(names, theirs, own, strict=True)
                if a >= b
            ]
    return found


def main() -> None:
    """Print the tables and keep the numbers."""
    spans = measure("qmsum", list(meetings()), MEETING_TOKENS)
    rouge = measure("squality", list(stories()), STORY_TOKENS)
    show("Gold spans of meetings: share of their tokens that is shown", spans, ["recall"])
    show("Stories: ROUGE F1 against four people's answers", rouge, ROUGE)
    missed = not_beaten(spans, ["recall"]) + not_beaten(rouge, ROUGE)
    print(
        "\n".join(
            ["Where a plain method is as good:", *missed] if missed else ["Better than both everywhere."]
        )
    )
    save("extracts", {"rows": spans + rouge, "not_beaten": missed})


if __name__ == "__main__":
    main()
