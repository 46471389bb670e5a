"""Catalogs of others, and requests whose tools are known: what ranking is measured on."""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmarks.past_plans import Bm25
from context.catalog.read import read_catalog
from context.catalog.types import Catalog
from context.ranking.index import RankingIndex, build_index
from context.ranking.rank import FormerTools, build_former
from tests.data import DATA, read_jsonl

Row = dict[str, Any]

SEED = 7
MOST_TAKEN = 400
SHORT_LISTS = (1, 1, 2, 3, 4)
"""Sizes of lists, as those of bfcl_live."""
SHARE_ALIKE = 0.3
SURELY_ALIKE, MOST_ALIKE = 3, 30
"""Places by plain BM25 of wrong tools that are near a request; the first may serve it as well."""


@dataclass(frozen=True)
class Request:
    """What a user asked, the names of the tools that serve it, and the half of the data it belongs to."""

    text: str
    tools: frozenset[str]
    half: int


@dataclass(frozen=True)
class Shelf:
    """A catalog, each entry's name as requests call it, and the requests."""

    name: str
    catalog: Catalog
    names: Sequence[str]
    texts: Sequence[str]
    requests: Sequence[Request]

    @cached_property
    def index(self) -> RankingIndex:
        """The catalog's index."""
        return build_index(self.catalog)


@dataclass(frozen=True)
class Case:
    """A request, the only tools there are, whether none of them serves it, and what was there before."""

    text: str
    index: RankingIndex
    is_gap: bool
    half: int
    former: FormerTools | None = None


def half_of(key: str) -> int:
    """Which half of the data an id belongs to: one tunes, the other checks."""
    return hashlib.sha256(key.encode()).digest()[0] & 1


def read_shelf(name: str) -> Shelf:
    """Read one catalog and its requests, as the catalog calls would store it."""
    tools, requests = _READERS[name]()
    catalog = read_catalog(tools)
    called = {_own_id(tool, entry_id): tool for tool in tools for entry_id in (True, False)}
    rows = [called[entry.entry_id] for entry in catalog.entries]
    return Shelf(
        name=name,
        catalog=catalog,
        names=[row["name"] for row in rows],
        texts=[f"{row['name']} {row['description']}" for row in rows],
        requests=[Request(row["query"], frozenset(row["tools"]), half_of(row["id"])) for row in requests],
    )


def _own_id(tool: Row, with_server: bool) -> str:
    return f"{tool['server']}.{tool['name']}" if with_server and "server" in tool else tool["name"]


def _read_plain(name: str) -> tuple[list[Row], list[Row]]:
    return read_jsonl(DATA / name / "catalog.jsonl"), read_jsonl(DATA / name / "eval.jsonl")


def _read_servers() -> tuple[list[Row], list[Row]]:
    tools, requests = _read_plain("livemcp")
    return [*tools, *read_jsonl(DATA / "docker_mcp" / "tools.jsonl")], requests


def _read_turns() -> tuple[list[Row], list[Row]]:
    folder = DATA / "bfcl_multi_turn"
    requests = [
        {"id": f"{row['id']}.{at}", "query": turn["user"], "tools": turn["tools"]}
        for name in ("history", "eval")
        for row in read_jsonl(folder / f"{name}.jsonl")
        for at, turn in enumerate(row["turns"])
        if turn["user"] and turn["tools"]
    ]
    return [_with_server(tool) for tool in read_jsonl(folder / "catalog.jsonl")], requests


def _with_server(tool: Row) -> Row:
    return {"server": tool["api"], **{key: value for key, value in tool.items() if key != "api"}}


_READERS: dict[str, Callable[[], tuple[list[Row], list[Row]]]] = {
    "metatool": lambda: _read_plain("metatool"),
    "bfcl_live": lambda: _read_plain("bfcl_live"),
    "stabletoolbench": lambda: _read_plain("stabletoolbench"),
    "livemcp + docker_mcp": _read_servers,
    "bfcl_multi_turn": _read_turns,
}
SHELVES = tuple(_READERS)


def single_cases() -> Iterator[Case]:
    """Read requests with a few candidates each: none of them fits, or one does."""
    folder = DATA / "bfcl_live"
    tools = {tool["name"]: tool for tool in read_jsonl(folder / "catalog.jsonl")}
    for name, is_gap in (("irrelevance", True), ("eval", False)):
        for row in read_jsonl(folder / f"{name}.jsonl"):
            yield Case(
                row["query"], _index([tools[each] for each in row["candidates"]]), is_gap, half_of(row["id"])
            )


def taken_cases(name: str) -> Iterator[Case]:
    """Read requests of a catalog twice, each with one to five of its tools: a right one, or none.

    The wrong tools are any of the catalog's, some of them near the request by plain BM25.
    """
    shelf, chance = read_shelf(name), random.Random(SEED)  # noqa: S311 (a draw, the same each time)
    entries, near = shelf.catalog.entries, Bm25(shelf.texts)
    places = {tool: place for place, tool in reversed(list(enumerate(shelf.names)))}
    asked = [request for request in shelf.requests if request.tools <= places.keys()]
    for request in chance.sample(asked, min(len(asked), MOST_TAKEN)):
        scores = near.scores(request.text)
        ordered = sorted(scores, key=lambda place: (-scores[place], place))
        alike = [place for place in ordered if shelf.names[place] not in request.tools][
            SURELY_ALIKE:MOST_ALIKE
        ]
        size, wrong = chance.choice(SHORT_LISTS), list[int]()
        while len(wrong) < size:
            is_alike = bool(alike) and chance.random() < SHARE_ALIKE
            place = chance.choice(alike) if is_alike else chance.randrange(len(entries))
            if shelf.names[place] not in request.tools and place not in wrong:
                wrong.append(place)
        right = places[min(request.tools)]
        for is_gap, chosen in ((True, wrong), (False, [right, *wrong[1:]])):
            there = Catalog(tuple(entries[place] for place in chance.sample(chosen, size)))
            yield Case(request.text, build_index(there), is_gap, request.half)


def turn_cases() -> Iterator[Case]:
    """Read turns of conversations in which a tool is missing until later, and turns whose tools are there."""
    folder = DATA / "bfcl_multi_turn"
    tools = read_jsonl(folder / "catalog.jsonl")
    shelves = dict[tuple[frozenset[str], ...], tuple[RankingIndex, FormerTools | None]]()
    for row in read_jsonl(folder / "eval_missing.jsonl"):
        missing = {int(at): set(names) for at, names in (row["missed_function"] or {}).items()}
        excluded = set(row["excluded_function"] or ())
        before = read_catalog([_with_server(tool) for tool in tools if tool["api"] in row["apis"]])
        for at, turn in enumerate(row["turns"]):
            is_gap = at + 1 in missing
            if turn["user"].strip() and (turn["tools"] or is_gap):
                absent = set().union(*(names for since, names in missing.items() if at < since))
                gone = frozenset((*absent, *excluded))
                there = Catalog(tuple(entry for entry in before.entries if entry.name not in gone))
                shelf = frozenset(entry.name for entry in before.entries), gone
                if shelf not in shelves:
                    shelves[shelf] = build_index(there), build_former(there, before.entries)
                index, former = shelves[shelf]
                yield Case(turn["user"], index, is_gap, half_of(row["id"]), former)


def _index(tools: Sequence[Row]) -> RankingIndex:
    return build_index(read_catalog(list(tools)))
