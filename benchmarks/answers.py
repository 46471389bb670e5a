"""Measure whether the built-in summarizer's answers belong to their questions.

Run it from the repository's root: `python -m benchmarks.answers [--data FILE]`.

Readers marked the conversation of each message of a channel: an answer of another conversation is false.
Beside ours stands the next message of anybody else. FILE is another file of the same shape.
"""

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.extractive_peers import to_message
from benchmarks.report import save
from context.conversation.transcript import render_transcript
from context.summary.extractive.talk import Spoken, Talk
from context.text.marker_words import is_question
from context.types import JsonObject
from tests.data import DATA, read_jsonl

STRETCH = 120
_NUMBER = re.compile(r"\[(\d+)")


@dataclass
class Tally:
    """Questions, the answers found, and the answers of the question's own conversation."""

    questions: int = 0
    answered: int = 0
    right: int = 0

    def add(self, *, is_right: bool | None) -> None:
        """Count a question; None where no answer was found."""
        self.questions += 1
        self.answered += is_right is not None
        self.right += bool(is_right)

    def row(self) -> JsonObject:
        """As numbers."""
        share = round(self.right / self.answered, 4) if self.answered else None
        return {"questions": self.questions, "answered": self.answered, "right": self.right, "share": share}


def main() -> None:
    """Print both ways side by side."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA / "irc_ubuntu/channels.jsonl.gz")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    tallies = measure(asked.data)
    for way, tally in tallies.items():
        row = tally.row()
        print(
            f"{way:12} {row['questions']:5} questions, {row['answered']:5} answered, "
            f"{row['right']:5} of the same conversation, {row['share']:.3f}"
        )
    if asked.json:
        save(asked.json, {way: tally.row() for way, tally in tallies.items()})


def measure(path: Path) -> dict[str, Tally]:
    """Count the answers of both ways over all channels of a file."""
    tallies = {"next words": Tally(), "ours": Tally()}
    for said in _stretches(path):
        _measure(said, tallies)
    return tallies


def _stretches(path: Path) -> Iterator[list[JsonObject]]:
    for channel in read_jsonl(path):
        said = [
            one for one in channel["messages"] if one.get("nick") and one["i"] >= channel["annotated_from"]
        ]
        for start in range(0, len(said), STRETCH):
            yield said[start : start + STRETCH]


def _measure(said: list[JsonObject], tallies: dict[str, Tally]) -> None:
    """Look for the answer to each question of a marked conversation."""
    bodies = ({"role": "user", "name": one["nick"], "content": one["text"]} for one in said)
    talk = Talk.of(render_transcript([to_message(seq, body) for seq, body in enumerate(bodies, 1)]))
    threads = {seq: one["thread"] for seq, one in enumerate(said, 1)}
    for spoken in talk.spoken:
        thread = threads[spoken.line.seq]
        for statement in spoken.statements:
            if thread is None or not is_question(statement) or not talk.asks_something(statement):
                continue
            answer = talk.answer(spoken, statement)
            number = _NUMBER.search(answer.label) if answer else None
            tallies["ours"].add(is_right=threads[int(number[1])] == thread if number else None)
            after = _next(talk, spoken)
            tallies["next words"].add(is_right=threads[after.line.seq] == thread if after else None)


def _next(talk: Talk, asked: Spoken) -> Spoken | None:
    following = talk.spoken[asked.place + 1 :]
    return next((one for one in following if one.line.speaker != asked.line.speaker), None)


if __name__ == "__main__":
    main()
