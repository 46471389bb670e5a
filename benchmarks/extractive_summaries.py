"""Roll the built-in model over real conversations: what the gate says, what is kept, and who does better.

Beside it stand the first, every n-th, the longest and the most central sentences, at the same length.

Run it from the repository's root: `python -m benchmarks.extractive_summaries [--json FILE]`.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from benchmarks.extractive_peers import BUDGETS, MOST_SHARE, compare, print_comparison, to_message
from context.conversation.transcript import LineKind, RenderedLine, participants, render_transcript
from context.conversation.turns import split_turns
from context.summary.evidence import covered_identifiers
from context.summary.extractive.summarize import summarize
from context.summary.gate import Covered, Draft, GateVerdict, judge_summary
from context.summary.prompt import SummaryInput
from context.text.exact_values import identifier_recall
from context.text.language import main_language
from context.tokens.text import count_text
from context.types import JsonObject, Message, Role
from tests.data import DATA, jsonl_files, read_jsonl

ROLLINGS = (1, 5, 10)
NAMES = 40
SETS = {"pi_sessions": (6_000, 1_500), "tau_airline": (300, 700), "livemcp": (1_000, 1_000)}
"""Per set: the fewest raw tokens of a segment, and the most tokens of a summary."""


@dataclass
class Tally:
    """What was measured over one data set."""

    verdicts: list[GateVerdict] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    recalls: dict[int, list[float]] = field(default_factory=dict)
    user_recalls: dict[int, list[float]] = field(default_factory=dict)
    times_s: list[float] = field(default_factory=list)
    over_budget: int = 0

    def row(self) -> JsonObject:
        """Sum it up."""
        refused = Counter(str(verdict.reason) for verdict in self.verdicts if verdict.reason)
        return {
            "summaries": len(self.verdicts),
            "accepted": round(mean(verdict.accepted for verdict in self.verdicts), 4),
            "refused": dict(refused),
            "over_budget": self.over_budget,
            "budget_used": round(mean(self.used), 4),
            "tokens_kept": round(mean(self.ratios), 4) if self.ratios else None,
            "recall": {k: [round(mean(v), 3), len(v)] for k, v in self.recalls.items()},
            "user_recall": {k: [round(mean(v), 3), len(v)] for k, v in self.user_recalls.items()},
            "slowest_s": round(max(self.times_s), 3),
        }


def read_conversations(name: str) -> Iterator[list[JsonObject]]:
    """Read a set's conversations as OpenAI messages: a recorded session a file, or a conversation a row."""
    for path in jsonl_files(DATA / name):
        rows = read_jsonl(path)
        session = [row["message"] for row in rows if row.get("type") == "message" and "message" in row]
        if session:
            yield session
        yield from (row["messages"] for row in rows if isinstance(row.get("messages"), list))


def to_messages(bodies: Sequence[JsonObject]) -> list[Message]:
    """Wrap OpenAI messages, counted and numbered from 1."""
    return [to_message(seq, body) for seq, body in enumerate(bodies, start=1)]


def segments(messages: Sequence[Message], least_tokens: int) -> Iterator[list[Message]]:
    """Cut a history into successive runs of whole turns of at least so many tokens."""
    segment: list[Message] = []
    for turn in split_turns(messages):
        segment.extend(messages[turn.start : turn.stop])
        if sum(message.tokens for message in segment) >= least_tokens:
            yield segment
            segment = []


def roll(messages: Sequence[Message], least_tokens: int, budget_tokens: int, tally: Tally) -> str | None:
    """Summarize segment after segment, each summary on the last accepted one; count what happens."""
    previous: str | None = None
    seen: list[RenderedLine] = []
    raw_tokens = 0
    for rolling, segment in enumerate(segments(messages, least_tokens), start=1):
        lines = render_transcript(segment)
        seen.extend(lines)
        raw_tokens += sum(message.tokens for message in segment)
        verdict = _step(lines, previous, budget_tokens, sum(message.tokens for message in segment), tally)
        if verdict.accepted:
            previous = verdict.text
        if rolling in ROLLINGS:
            _note_recall(rolling, previous or "", seen, tally)
    if previous:
        tally.ratios.append(count_text(previous) / raw_tokens)
    return previous


def _step(
    lines: tuple[RenderedLine, ...], previous: str | None, budget_tokens: int, tokens: int, tally: Tally
) -> GateVerdict:
    language = main_language(line.text for line in lines if line.role is Role.USER)
    request = SummaryInput(lines, budget_tokens, language, previous, participants(lines))
    started = time.perf_counter()
    text = summarize(request, count=count_text)
    tally.times_s.append(time.perf_counter() - started)
    spent = count_text(text)
    tally.over_budget += spent > budget_tokens
    room = min(budget_tokens, int(MOST_SHARE * sum(count_text(line.text) for line in lines)))
    tally.used.append(min(spent / max(room, 1), 1.0))
    covered = Covered(lines, tokens + count_text(previous or ""), previous, language)
    verdict = judge_summary(Draft(text, spent, "stop"), covered)
    tally.verdicts.append(verdict)
    return verdict


def _note_recall(rolling: int, summary: str, seen: Sequence[RenderedLine], tally: Tally) -> None:
    """Measure against the heaviest names of everything so far, and of the users' own words alone."""
    words = [line for line in seen if line.role is Role.USER and line.kind is LineKind.TEXT]
    for recalls, lines in ((tally.recalls, seen), (tally.user_recalls, words)):
        names = covered_identifiers(lines, limit=NAMES)
        if names:
            recalls.setdefault(rolling, []).append(identifier_recall(summary, names))


def measure(name: str) -> Tally:
    """Roll over every conversation of a set."""
    least_tokens, budget_tokens = SETS[name]
    tally = Tally()
    for bodies in read_conversations(name):
        roll(to_messages(bodies), least_tokens, budget_tokens, tally)
    return tally


def main() -> None:
    """Measure every set, print the table, write JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = {name: measure(name).row() for name in SETS if (DATA / name).is_dir()}
    for name, row in rows.items():
        print(name)
        for key, value in row.items():
            print(f"  {key:<14} {value}")
    compared = {name: compare(name) for name in BUDGETS if (DATA / name).is_dir()}
    for name, found in compared.items():
        print_comparison(name, found)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rolled": rows, "compared": compared}, indent=2) + "\n")


if __name__ == "__main__":
    main()
