"""Measure foci: how often a near one is a wrong one, which texts share a key, and how fast a key is made.

python -m benchmarks.focuses

Labels by construction: two questions about a meeting are about the same where their gold spans overlap; two
messages are alike where their sources gave them the same label.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.report import save
from context.focus import NEAR_THRESHOLD, Focus, focus_key, normalise, similarity
from tests.data import DATA, read_jsonl

THRESHOLDS = (0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
COMMONEST = 250
KEY_CHARS = 2_000


@dataclass(frozen=True)
class Pair:
    """Two foci that differ, how near they are, and how much they are about the same, 0-1."""

    alike: float
    overlap: float
    contained: float


def meeting_pairs() -> Iterator[Pair]:
    """All pairs of questions about one meeting: the overlap of their gold spans."""
    for meeting in read_jsonl(DATA / "qmsum" / "meetings.jsonl.gz"):
        asked = [(normalise(each["query"]), turns_of(each["spans"])) for each in meeting["specific"]]
        for (one, mine), (other, theirs) in combinations(asked, 2):
            both = len(mine & theirs)
            contained = both / min(len(mine), len(theirs))
            yield Pair(similarity(one, other), both / len(mine | theirs), contained)


def turns_of(spans: list[list[int]]) -> set[int]:
    """The turns of gold spans."""
    return {turn for first, last in spans for turn in range(first, last + 1)}


def message_pairs(messages: list[dict[str, Any]]) -> Iterator[Pair]:
    """Pairs of messages that share a word: whether they have the same label."""
    foci = [normalise(each["text"]) for each in messages]
    sharing: dict[str, list[int]] = defaultdict(list)
    for at, focus in enumerate(foci):
        for term in focus.terms:
            sharing[term].append(at)
    pairs = {
        pair for places in sharing.values() if len(places) <= COMMONEST for pair in combinations(places, 2)
    }
    for one, other in sorted(pairs):
        alike = similarity(foci[one], foci[other])
        if THRESHOLDS[0] <= alike < 1:
            same = float(messages[one]["source_label"] == messages[other]["source_label"])
            yield Pair(alike, same, same)


def count_pairs(data: str, pairs: list[Pair]) -> list[dict[str, Any]]:
    """Count, for each threshold, the near pairs and the wrong ones among them."""
    rows = []
    for threshold in THRESHOLDS:
        near = [pair for pair in pairs if pair.alike >= threshold]
        rows.append(
            {
                "data": data,
                "threshold": threshold,
                "near": len(near),
                "mostly_same": sum(pair.overlap >= 0.5 for pair in near),
                "one_holds_most_of_other": sum(pair.contained >= 0.5 for pair in near),
                "wrong": sum(pair.overlap == 0 for pair in near),
            }
        )
    return rows


def shared_keys(texts: list[str]) -> list[list[str]]:
    """Group the different texts that have one key."""
    groups: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        groups[focus_key(text)].add(text)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def key_ms(text: str) -> float:
    """The median time of a key, in this process."""
    times = []
    for _ in range(50):
        began = time.process_time()
        focus_key(text)
        times.append((time.process_time() - began) * 1000)
    return median(times)


def long_texts() -> dict[str, str]:
    """Texts of 2,000 characters."""
    meeting = read_jsonl(DATA / "qmsum" / "meetings.jsonl.gz")[0]
    chinese = "".join(
        row["text"] for row in read_jsonl(DATA / "multilingual" / "prompts.jsonl") if row["lang"] == "zh"
    )
    return {
        "English": " ".join(words for _, words in meeting["turns"])[:KEY_CHARS],
        "Chinese": chinese[:KEY_CHARS],
    }


def perturbed() -> list[tuple[str, Focus, Focus]]:
    """Pairs that differ in one thing that matters: none of them may be near."""
    base = "what the team decided about the {} of the remote control in {}"
    changes = {
        "number": (base.format("price", "2023"), base.format("price", "2024")),
        "negation": (
            base.format("price", "May"),
            base.format("price", "May").replace("decided", "did not decide"),
        ),
        "name": (base.format("price", "Riga"), base.format("price", "Oslo")),
        "direction": ("orders shipped to the Riga depot", "orders shipped from the Riga depot"),
        "time": ("errors before the deploy of the api", "errors after the deploy of the api"),
        "identifier": ("what api.py returns for a user", "what db.py returns for a user"),
    }
    return [(name, normalise(one), normalise(other)) for name, (one, other) in changes.items()]


def main() -> None:
    """Print the tables and keep the numbers."""
    messages = read_jsonl(DATA / "preflight" / "messages.jsonl")
    meetings = list(meeting_pairs())
    rows = count_pairs("qmsum", meetings) + count_pairs("preflight", list(message_pairs(messages)))
    table = Table(
        "data", "from", "near", "mostly the same", "one holds most of the other", "wrong", title="Near foci"
    )
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console().print(table)
    different = sum(pair.overlap == 0 for pair in meetings)
    print(f"qmsum: {len(meetings)} pairs, {different} about different places; threshold {NEAR_THRESHOLD}")
    texts = [row["text"] for row in messages + read_jsonl(DATA / "multilingual" / "prompts.jsonl")]
    shared = shared_keys(texts)
    print(f"{len(set(texts))} texts, {len(shared)} keys that several share; the shortest:")
    for group in sorted(shared, key=lambda each: sum(map(len, each)))[:12]:
        print("  ", " | ".join(text.strip() for text in group))
    changed = {name: round(similarity(one, other), 2) for name, one, other in perturbed()}
    times = {name: round(key_ms(text), 2) for name, text in long_texts().items()}
    print(f"similarity after one change that matters: {changed}")
    print(f"ms a key of {KEY_CHARS} characters: {times}")
    save(
        "focuses",
        {
            "pairs": rows,
            "shared_keys": len(shared),
            "texts": len(set(texts)),
            "changed": changed,
            "key_ms": times,
        },
    )


if __name__ == "__main__":
    main()
