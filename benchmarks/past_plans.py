"""Past plans and questions of others, and the two baselines that learning must beat."""

import hashlib
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from context.catalog.types import Catalog, Entry, EntryKind
from context.priors.types import JoinedPlan, ToolOutcome
from context.ranking.index import RankingIndex, build_index
from tests.data import DATA, read_jsonl

CUTS = (1, 5, 15)
NEAREST = 20
FIRST_DAY = 20_000
PLANS_A_DAY = 100
_HUMP = re.compile(r"([a-z])([A-Z])")
_WORD = re.compile(r"[a-z0-9]+")

Ranker = Callable[[str], Sequence[str]]
"""An intent in, entry ids out, best first."""


@dataclass(frozen=True)
class Question:
    """An intent, and the tools that serve it."""

    text: str
    tools: frozenset[str]
    half: int


@dataclass(frozen=True)
class PastPlans:
    """A catalog, plans that were made from it, and questions that were not among them."""

    name: str
    catalog: Catalog
    texts: Mapping[str, str]
    history: Sequence[Mapping[str, Any]]
    questions: Sequence[Question]

    @cached_property
    def index(self) -> RankingIndex:
        """The catalog's index."""
        return build_index(self.catalog)

    @property
    def ids(self) -> list[str]:
        """The catalog's entries."""
        return [entry.entry_id for entry in self.catalog.entries]

    def ordered(self, order: str) -> list[Mapping[str, Any]]:
        """The history shuffled, or with each tool's plans together, the tools in a random order."""
        rows = list(self.history)
        random.Random(1).shuffle(rows)  # noqa: S311 (a shuffle that is the same each time)
        if order == "grouped":
            rows.sort(key=lambda row: hashlib.sha256(min(row["tools"]).encode()).digest())
        return rows


def read_past_plans(name: str, *, most: int | None = None) -> PastPlans:
    """Read one data set of shared data that has a catalog, a history and questions."""
    folder = DATA / name
    tools = read_jsonl(folder / "catalog.jsonl")
    asked = [
        Question(row["query"], frozenset(row["tools"]), _half(row["id"]))
        for row in read_jsonl(folder / "eval.jsonl")
    ]
    return PastPlans(
        name=name,
        catalog=Catalog(tuple(map(_entry, tools))),
        texts={tool["name"]: f"{tool['name']} {tool['description']}" for tool in tools},
        history=read_jsonl(folder / "history.jsonl"),
        questions=asked[:most],
    )


def _entry(tool: Mapping[str, Any]) -> Entry:
    return Entry(
        tool["name"],
        EntryKind.PACK,
        tool["name"],
        tool["description"],
        input_schema=tool.get("parameters"),
        group=tool.get("group", ""),
    )


def _half(key: str) -> int:
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2


def as_plans(rows: Iterable[Mapping[str, Any]]) -> list[JoinedPlan]:
    """Rows of a history as plans that went well, some each day."""
    return [
        JoinedPlan(
            row["query"], [ToolOutcome(tool, ok=True) for tool in row["tools"]], FIRST_DAY + at // PLANS_A_DAY
        )
        for at, row in enumerate(rows)
    ]


def grade(ranker: Ranker, questions: Sequence[Question]) -> dict[str, Any]:
    """Recall at each cut: the share of a question's tools among the first, averaged over questions."""
    halves: dict[int, list[list[float]]] = {0: [], 1: []}
    for question in questions:
        first = ranker(question.text)[: CUTS[-1]]
        halves[question.half].append(
            [len(question.tools.intersection(first[:cut])) / len(question.tools) for cut in CUTS]
        )
    means = [_means(halves[0] + halves[1]), _means(halves[0]), _means(halves[1])]
    return {"all": means[0], "halves": means[1:]}


def _means(rows: list[list[float]]) -> list[float]:
    return [fmean(column) for column in zip(*rows, strict=True)] if rows else [math.nan] * len(CUTS)


def plain_words(text: str) -> list[str]:
    """The words of a text, as plain BM25 takes them."""
    return _WORD.findall(_HUMP.sub(r"\1 \2", text).lower())


class Bm25:
    """Plain BM25 over texts."""

    def __init__(self, texts: Sequence[str], *, k1: float = 1.5, b: float = 0.75) -> None:
        """Index the texts."""
        counts = [Counter(plain_words(text)) for text in texts]
        usual = fmean(sum(count.values()) for count in counts)
        found: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, count in enumerate(counts):
            stretch = k1 * (1 - b + b * sum(count.values()) / usual)
            for word, often in count.items():
                found[word].append((place, often * (k1 + 1) / (often + stretch)))
        self.postings = {
            word: [(place, impact * self._rarity(len(texts), len(rows))) for place, impact in rows]
            for word, rows in found.items()
        }

    @staticmethod
    def _rarity(size: int, having: int) -> float:
        return math.log(1 + (size - having + 0.5) / (having + 0.5))

    def scores(self, text: str) -> dict[int, float]:
        """Score the texts that have a word of it."""
        found: dict[int, float] = defaultdict(float)
        for word in set(plain_words(text)):
            for place, impact in self.postings.get(word, ()):
                found[place] += impact
        return found


def bm25_ranker(data: PastPlans) -> Ranker:
    """Plain BM25 over names and descriptions."""
    ids = data.ids
    index = Bm25([data.texts[entry_id] for entry_id in ids])
    return lambda intent: _order(ids, index.scores(intent))


def nearest_ranker(data: PastPlans, rows: Sequence[Mapping[str, Any]]) -> Ranker:
    """BM25, and the votes of the 20 past intents that are nearest by BM25, each half of the score."""
    ids = data.ids
    place_of = {entry_id: place for place, entry_id in enumerate(ids)}
    tools, past = Bm25([data.texts[entry_id] for entry_id in ids]), Bm25([row["query"] for row in rows])

    def ranked(intent: str) -> Sequence[str]:
        near = sorted(past.scores(intent).items(), key=lambda one: -one[1])[:NEAREST]
        votes: dict[int, float] = defaultdict(float)
        for at, score in near:
            for tool in rows[at]["tools"]:
                votes[place_of[tool]] += score
        return _order(ids, _halved(tools.scores(intent), votes))

    return ranked


def _halved(*parts: Mapping[int, float]) -> dict[int, float]:
    both: dict[int, float] = defaultdict(float)
    for part in parts:
        most = max(part.values(), default=1.0)
        for place, score in part.items():
            both[place] += score / most
    return both


def _order(ids: Sequence[str], scores: Mapping[int, float]) -> list[str]:
    best = sorted(scores, key=lambda place: (-scores[place], place))[: CUTS[-1]]
    return [ids[place] for place in best]
