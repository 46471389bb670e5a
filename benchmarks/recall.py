"""Measure recall on conversations of others: does it find what a question needs?

python -m benchmarks.recall

Beside it stand the start of the document, the newest messages, and plain BM25 over whole turns. This measures
functions: what a request gets of them is measured by `python -m benchmarks.served`.
"""

import hashlib
import json
import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.report import save
from benchmarks.selecting import select_recall, stats_of
from context.conversation.transcript import RenderLimits, render_transcript
from context.recall.passages import Passage, make_passages
from context.recall.ranking import Hit, find_ranges, weigh_terms
from context.recall.selection import RecallBlock
from context.text.terms import query_terms
from context.tokens.text import count_text
from context.types import Message, Role
from tests.data import DATA, read_jsonl

MAX_FACTS = 25
WHOLE = RenderLimits(message_chars=1_000_000)
MEETING_TOKENS = (1000, 2000, 4000)
MEMORY_TOKENS = (150, 300, 500, 1000, 2000)
WANTED = {
    ("qmsum", 2000): 0.50,
    ("qmsum", 4000): 0.65,
    ("bfcl_memory", 500): 0.93,
    ("bfcl_memory", 2000): 0.94,
}


@dataclass(frozen=True)
class Talk:
    """A conversation: what was said in each turn, and its passages."""

    turns: list[str]
    tokens: list[int]
    passages: list[Passage]

    @classmethod
    def of(cls, said: Sequence[tuple[str | None, str]]) -> "Talk":
        """Read speakers and their words; one message a turn."""
        turns = [f"{speaker}: {words}" if speaker else words for speaker, words in said]
        messages = [
            Message(seq, Role.USER, 0, json.dumps({"role": "user", "content": words}), speaker=speaker)
            for seq, (speaker, words) in enumerate(said, 1)
        ]
        lines = render_transcript(messages, limits=WHOLE)
        passages = make_passages(lines, turn_of=lambda seq: seq, count=count_text)
        return cls(turns, [count_text(turn) for turn in turns], passages)


@dataclass(frozen=True)
class Question:
    """A question about a conversation, and how to grade what a window shows of it."""

    data: str
    half: int
    talk: Talk
    text: str
    grade_turns: Callable[[Sequence[int]], float]
    grade_blocks: Callable[[Sequence[RecallBlock]], float]


def half_of(name: str) -> int:
    """Which half of the data an id belongs to: one tunes, the other checks."""
    return hashlib.sha256(name.encode()).digest()[-1] & 1


def shown(passage: Passage, blocks: Sequence[RecallBlock]) -> bool:
    """Whether a block shows a passage."""
    words = passage.text.strip().replace("\n", "\n    ")
    return any(block.from_seq <= passage.seq <= block.to_seq and words in block.text for block in blocks)


def meetings() -> Iterator[Question]:
    """Questions about meetings: the share of the gold span's tokens that is shown."""
    for meeting in read_jsonl(DATA / "qmsum" / "meetings.jsonl.gz"):
        talk = Talk.of([(speaker, words) for speaker, words in meeting["turns"]])
        for asked in meeting["specific"]:
            gold = {turn for first, last in asked["spans"] for turn in range(first, last + 1)}
            yield meeting_question(half_of(meeting["id"]), talk, asked["query"], gold)


def meeting_question(half: int, talk: Talk, query: str, gold: set[int]) -> Question:
    """Grade by tokens of the gold turns, each method by the units that it shows."""
    total = sum(talk.tokens[turn] for turn in gold)
    wanted = [passage for passage in talk.passages if passage.seq - 1 in gold]
    parts = sum(passage.tokens for passage in wanted)
    return Question(
        "qmsum",
        half,
        talk,
        query,
        lambda turns: sum(talk.tokens[turn] for turn in gold & set(turns)) / total,
        lambda blocks: sum(passage.tokens for passage in wanted if shown(passage, blocks)) / parts,
    )


def memories() -> Iterator[Question]:
    """Questions about facts told earlier: whether an accepted answer is in the window."""
    for scenario in read_jsonl(DATA / "bfcl_memory" / "scenarios.jsonl"):
        told = [message["content"] for part in scenario["sessions"] for message in part["messages"]]
        talk = Talk.of([(None, words) for words in told])
        for asked in scenario["qa"]:
            yield memory_question(half_of(asked["id"]), talk, asked["question"], asked["answers"])


def memory_question(half: int, talk: Talk, query: str, answers: list[str]) -> Question:
    """Grade by the words of the answer, in their order."""
    wanted = [plain(answer) for answer in answers]

    def holds(texts: Sequence[str]) -> float:
        window = "\n".join(map(plain, texts))
        return float(any(answer in window for answer in wanted))

    return Question(
        "bfcl_memory",
        half,
        talk,
        query,
        lambda turns: holds([talk.turns[turn] for turn in turns]),
        lambda blocks: holds([block.text for block in blocks]),
    )


def plain(text: str) -> str:
    """The words alone, in lower case."""
    return " ".join(re.findall(r"\w+", text.lower()))


def pack(order: Sequence[int], tokens: Sequence[int], budget: int) -> list[int]:
    """Take turns in their order of merit while they fit."""
    chosen = []
    for turn in order:
        if tokens[turn] <= budget:
            chosen.append(turn)
            budget -= tokens[turn]
    return chosen


def bm25(query: str, turns: Sequence[str]) -> list[float]:
    """Score turns by the textbook: k1 = 1.2, b = 0.75, lower-cased words, nothing else."""
    bags = [Counter(re.findall(r"\w+", turn.lower())) for turn in turns]
    lengths = [bag.total() for bag in bags]
    mean = fmean(lengths)
    scores = [0.0] * len(turns)
    for word in set(re.findall(r"\w+", query.lower())):
        holding = sum(word in bag for bag in bags)
        rarity = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
        for turn, (bag, length) in enumerate(zip(bags, lengths, strict=True)):
            if word in bag:
                scores[turn] += rarity * bag[word] * 2.2 / (bag[word] + 1.2 * (0.25 + 0.75 * length / mean))
    return scores


def by_bm25(question: Question, budget: int) -> float:
    """Plain BM25 over whole turns."""
    scores = bm25(question.text, question.talk.turns)
    order = sorted(range(len(scores)), key=lambda turn: -scores[turn])
    return question.grade_turns(pack(order, question.talk.tokens, budget))


def by_place(question: Question, budget: int) -> float:
    """The start of a meeting, the newest of what was told."""
    order = range(len(question.talk.turns))
    newest = question.data == "bfcl_memory"
    return question.grade_turns(pack(order[::-1] if newest else order, question.talk.tokens, budget))


def by_recall(question: Question, budget: int) -> float:
    """Recall over all passages."""
    return question.grade_blocks(
        select_recall(
            question.text, question.talk.passages, max_tokens=budget, max_facts=MAX_FACTS, count=count_text
        )
    )


def by_search(question: Question, budget: int) -> float:
    """Recall over what a search would load: hits by term, then the stretches around the best of them."""
    passages = question.talk.passages
    terms = query_terms(question.text)
    stats = stats_of(passages, terms)
    weights = weigh_terms(terms, stats)
    hits = [Hit(p.start, p.tokens, p.terms & weights.keys()) for p in passages if p.terms & weights.keys()]
    ranges = find_ranges(hits, weights, max_tokens=budget)
    loaded = [p for p in passages if any(first <= p.start <= last for first, last in ranges)]
    return question.grade_blocks(
        select_recall(
            question.text,
            loaded,
            max_tokens=budget,
            max_facts=MAX_FACTS,
            count=count_text,
            stats=stats,
        )
    )


METHODS = {
    "head or newest": by_place,
    "BM25 over turns": by_bm25,
    "recall": by_recall,
    "recall, searched": by_search,
}


def measure(questions: Sequence[Question], budgets: Sequence[int]) -> list[dict[str, Any]]:
    """Grade every method at every budget, over all questions and over each half."""
    rows = []
    for budget in budgets:
        for name, method in METHODS.items():
            grades: dict[int, list[float]] = defaultdict(list)
            times = []
            for question in questions:
                began = time.perf_counter()
                grades[question.half].append(method(question, budget))
                times.append(time.perf_counter() - began)
            rows.append(
                {
                    "data": questions[0].data,
                    "budget_tokens": budget,
                    "method": name,
                    "all": fmean(grades[0] + grades[1]),
                    "halves": [fmean(grades[0]), fmean(grades[1])],
                    "wanted": WANTED.get((questions[0].data, budget)),
                    "p95_ms": quantiles(times, n=20)[-1] * 1000,
                }
            )
    return rows


def main() -> None:
    """Print the table and keep the numbers."""
    rows = [*measure(list(meetings()), MEETING_TOKENS), *measure(list(memories()), MEMORY_TOKENS)]
    table = Table("data", "tokens", "method", "all", "half 0", "half 1", "wanted", title="Recall")
    for row in rows:
        halves = [f"{half:.3f}" for half in row["halves"]]
        wanted = f"{row['wanted']:.2f}" if row["wanted"] else ""
        table.add_row(
            row["data"], str(row["budget_tokens"]), row["method"], f"{row['all']:.3f}", *halves, wanted
        )
    Console().print(table)
    save("recall", rows)


if __name__ == "__main__":
    main()
