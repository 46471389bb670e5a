"""Who is credited in a summary: real meetings and chats of many people, rolled up by the built-in model.

Run it from the repository's root: `python -m benchmarks.attribution`.

Every point of a summary is looked up in the conversation: who really said it? What several people said is
not counted. Three ways to hand the same words to the same summarizer are compared at each budget:

* names: each message brings its speaker, as Afterturn stores it;
* roles: the same messages, all of them of "user";
* flat: a channel's messages as one text with names in it, a message of "user" for each 20 of them.

The last two rows have a careless model credit every fifth point of the first way to somebody else, and show
what is right before and after the summary gate, which mends points that are written like lines of the
transcript: others it cannot judge.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from benchmarks.report import save
from context.conversation.transcript import RenderedLine, participants, render_transcript
from context.summary.extractive.summarize import summarize
from context.summary.prompt import SummaryInput
from context.summary.sections import Section, SummaryDocument
from context.summary.voice import credit_speakers, read_credits
from context.text.cut import one_line, split_sentences
from context.tokens.text import count_text
from context.types import JsonObject, Message, Role
from tests.data import DATA, read_jsonl

BUDGETS = (500, 1_000, 2_000, 4_000)
SEGMENT_MESSAGES = 100
MOST_CONVERSATIONS, MOST_MESSAGES = 12, 600
FLAT_MESSAGES = 20
CARELESS_EVERY = 5
LEAST_CHARS = 24
WAYS = ("names", "roles", "flat")
_LABEL = re.compile(r"(?:\[\d[\d, -]*\]\s*)?([^:\[\]]{1,80}):\s+(.*)", re.DOTALL)


@dataclass(frozen=True)
class Spoken:
    """What one person said at a time."""

    who: str
    text: str


@dataclass
class Score:
    """Points whose speaker is known: how many, and how many name the right one, a wrong one or nobody."""

    points: int = 0
    right: int = 0
    wrong: int = 0

    def row(self) -> JsonObject:
        """As shares."""
        points = max(self.points, 1)
        return {
            "points": self.points,
            "right": round(self.right / points, 4),
            "wrong": round(self.wrong / points, 4),
            "nobody": round((self.points - self.right - self.wrong) / points, 4),
        }

    def __iadd__(self, other: "Score") -> Self:
        """Add what was counted elsewhere."""
        self.points += other.points
        self.right += other.right
        self.wrong += other.wrong
        return self

    def add(self, named: str | None, who: str) -> None:
        """Count one point."""
        self.points += 1
        self.right += named == who
        self.wrong += named is not None and named != who


def read_sets() -> Iterator[tuple[str, list[list[Spoken]]]]:
    """Read the conversations of each set that is there."""
    if (DATA / "qmsum").is_dir():
        meetings = read_jsonl(DATA / "qmsum/meetings.jsonl.gz")
        yield "qmsum", [[Spoken(who, text) for who, text in meeting["turns"]] for meeting in meetings]
    if (DATA / "irc_ubuntu").is_dir():
        logs = read_jsonl(DATA / "irc_ubuntu/channels.jsonl.gz")
        yield "irc_ubuntu", [_read_log(log["messages"]) for log in logs]


def _read_log(messages: Sequence[JsonObject]) -> list[Spoken]:
    return [Spoken(each["nick"], each["text"]) for each in messages if each.get("nick")]


def to_messages(spoken: Sequence[Spoken], way: str) -> list[Message]:
    """Write a conversation as messages, in one of the three ways."""
    if way != "flat":
        return [
            _message(seq, each.text, each.who if way == "names" else None)
            for seq, each in enumerate(spoken, start=1)
        ]
    groups = (spoken[at : at + FLAT_MESSAGES] for at in range(0, len(spoken), FLAT_MESSAGES))
    texts = ("\n".join(f"{each.who}: {each.text}" for each in group) for group in groups)
    return [_message(seq, text, None) for seq, text in enumerate(texts, start=1)]


def _message(seq: int, words: str, who: str | None) -> Message:
    raw = json.dumps({"role": "user", "content": words}, ensure_ascii=False)
    return Message(seq, Role.USER, count_text(raw), raw, speaker=who)


def roll(spoken: Sequence[Spoken], way: str, budget: int) -> tuple[str, tuple[RenderedLine, ...]]:
    """Summarize a conversation stretch by stretch, each summary on the last one."""
    size = SEGMENT_MESSAGES // (FLAT_MESSAGES if way == "flat" else 1)
    lines = render_transcript(to_messages(spoken, way))
    previous: str | None = None
    for start in range(0, len(lines), size):
        part = lines[start : start + size]
        previous = summarize(SummaryInput(part, budget, "en", previous, participants(part))) or previous
    return previous or "", lines


class Truth:
    """Who said what: looked up by the words of a point."""

    def __init__(self, spoken: Sequence[Spoken]) -> None:
        """Index every sentence of a conversation."""
        self.people = {_plain(each.who): each.who for each in spoken}
        self.said: dict[str, set[str]] = {}
        for each in spoken:
            for sentence in split_sentences(each.text):
                self.said.setdefault(_plain(sentence)[:LEAST_CHARS], set()).add(each.who)

    def find(self, words: str) -> str | None:
        """Who alone said a sentence that starts like this; None where nobody or several did."""
        found = [self.said.get(_plain(sentence)[:LEAST_CHARS], set()) for sentence in split_sentences(words)]
        people = set().union(*found)
        return people.pop() if len(people) == 1 and len(_plain(words)) >= LEAST_CHARS else None

    def named(self, label: str) -> str | None:
        """Whom a label names, if anybody of the conversation."""
        return self.people.get(_plain(re.sub(r"\s*\(\w+\)\Z", "", label)))


def score(summary: str, truth: Truth) -> Score:
    """Look at each point of a summary: is who it names who said it?"""
    counted = Score()
    for line in SummaryDocument(summary).lines:
        if not line.item or line.section in {None, Section.IDENTIFIERS}:
            continue
        named, words = _credited(line.item, truth)
        who = truth.find(words)
        if who is not None:
            counted.add(named, who)
    return counted


def _credited(item: str, truth: Truth) -> tuple[str | None, str]:
    """Whom a point names, and the words behind all labels."""
    named, words = None, item
    while match := _LABEL.match(words):
        label = truth.named(match[1])
        if label is None and _plain(match[1]) not in {"user", "assistant"}:
            break
        named, words = named or label, match[2]
    return named, words


def careless(summary: str, labels: Sequence[str]) -> str:
    """Credit every fifth point to another participant, as a careless model would."""
    written, place = [], 0
    for text in summary.split("\n"):
        told = list(read_credits(text))
        if told and (place := place + 1) % CARELESS_EVERY == 0:
            right = told[0][1]
            other = next((label for label in labels if label != right), right)
            text = text.replace(f" {right}:", f" {other}:", 1)  # noqa: PLW2901 - one line of the summary
        written.append(text)
    return "\n".join(written)


def measure(conversations: Sequence[Sequence[Spoken]], budget: int) -> dict[str, Score]:
    """Score every way over all conversations of a set."""
    scores = {name: Score() for name in (*WAYS, "careless", "gated")}
    for whole in conversations:
        spoken = whole[:MOST_MESSAGES]
        truth = Truth(spoken)
        for way in WAYS:
            summary, lines = roll(spoken, way, budget)
            scores[way] += score(summary, truth)
            if way == "names":
                swapped = careless(summary, participants(lines))
                scores["careless"] += score(swapped, truth)
                scores["gated"] += score(credit_speakers(SummaryDocument(swapped), lines).text, truth)
    return scores


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", one_line(text, len(text) + 1).casefold()))


def main() -> None:
    """Measure every set at every budget; print the table, write JSON."""
    results: JsonObject = {}
    for name, found in read_sets():
        conversations = found[:MOST_CONVERSATIONS]
        print(f"{name}: {len(conversations)} conversations, the first {MOST_MESSAGES} messages of each")
        print(f"{'budget':>8} {'way':<10} {'points':>7} {'right':>7} {'wrong':>7} {'nobody':>7}")
        for budget in BUDGETS:
            for way, counted in measure(conversations, budget).items():
                row = counted.row()
                results.setdefault(name, {}).setdefault(str(budget), {})[way] = row
                shares = " ".join(f"{row[key]:>7.1%}" for key in ("right", "wrong", "nobody"))
                print(f"{budget:>8,} {way:<10} {row['points']:>7,} {shares}", flush=True)
    if not results:
        sys.exit(f"neither qmsum nor irc_ubuntu is under {DATA}; set AFTERTURN_DATA to their folder")
    print(f"written to {save('attribution', results)}")


if __name__ == "__main__":
    main()
