"""Replay real conversations in shadow: tokens saved against facts that the next turn then lacks.

Three ways: a summary, the same with recall, and history cut at its head to the larger size of both. The
summary is the built-in model's; recall has the room that preflight leaves it for the question.
Run it from the repository's root: `AFTERTURN_DATA=… python -m benchmarks.shadow`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.context.recall import limits_of
from benchmarks.extractive_summaries import read_conversations, to_messages
from benchmarks.report import save
from benchmarks.selecting import select_recall
from context.artifact_plans.question import only_agrees, recall_question
from context.conversation.transcript import participants, render_transcript
from context.conversation.turns import split_turns
from context.preflight.decide import classify, is_follow_up
from context.preflight.types import Category, MemoryParams, Previous
from context.recall.passages import make_passages
from context.recall.ranking import find_question
from context.shadow.facts import compare_facts, count_loss, needs_of, pack, texts_of
from context.summary.extractive.summarize import summarize
from context.summary.frame import render_summary
from context.summary.prompt import SummaryInput
from context.text.language import main_language
from context.tokens.budget import choose_budget
from context.tokens.text import count_text
from context.types import Message, Role, wilson
from models.recall.settings import recall_settings
from tests.data import DATA

SETS = {"tau_airline": 1_500, "pi_sessions": 20_000}
"""Per set: the fewest raw tokens of a history that is summarized."""

WINDOW_TOKENS = 32_000
MOST_CONVERSATIONS = 150
MOST_ASKED = 4
"""How many of the newest user messages preflight looks at for the task that is under way."""

KEPT_SHARE = 0.3
"""What of history stays raw, by tokens."""

SUMMARY_SHARE = 0.25
LEAST_SUMMARY, MOST_SUMMARY = 200, 1_500
SALT = b"shadow benchmark"
WAYS = ("summary", "summary + recall", "head cut off")


@dataclass
class Side:
    """One way to make history smaller."""

    tokens: int = 0
    needed: int = 0
    lost: int = 0


@dataclass
class Totals:
    """What was measured over one data set."""

    reads: int = 0
    raw_tokens: int = 0
    sides: dict[str, Side] = field(default_factory=lambda: {name: Side() for name in WAYS})
    spent_s: float = 0.0

    def row(self) -> dict[str, Any]:
        """Sum it up."""
        return {
            "reads": self.reads,
            "raw_tokens": self.raw_tokens,
            "compare_ms": round(self.spent_s * 1_000 / max(len(WAYS) * self.reads, 1), 2),
            **{name: self._side(side) for name, side in self.sides.items()},
        }

    def _side(self, side: Side) -> dict[str, Any]:
        share = wilson(side.lost, side.needed)
        return {
            "tokens": side.tokens,
            "saving": round(1 - side.tokens / max(self.raw_tokens, 1), 4),
            "facts_needed": side.needed,
            "facts_lost": side.lost,
            "lost_share": [round(one, 4) for one in (share.share, share.low, share.high)] if share else None,
        }


def reads(messages: Sequence[Message], least_tokens: int) -> Iterator[tuple[list[Message], list[Message]]]:
    """Every moment at which history is large enough: what was said until then, and the turn that followed."""
    turns = [list(messages[turn.start : turn.stop]) for turn in split_turns(messages)]
    for place in range(2, len(turns)):
        history = [message for turn in turns[:place] for message in turn]
        if sum(message.tokens for message in history) >= least_tokens:
            yield history, turns[place]


def cut(history: Sequence[Message]) -> int:
    """Where the raw tail begins: at a turn, with a share of the tokens behind it, and at least one turn."""
    turns = split_turns(history)
    room = KEPT_SHARE * sum(message.tokens for message in history)
    start = turns[-1].start
    for turn in reversed(turns[1:]):
        if sum(message.tokens for message in history[turn.start :]) > room and turn.start != start:
            break
        start = turn.start
    return start


def summary_of(covered: Sequence[Message]) -> str:
    """The built-in model's summary of messages, as it stands in a window."""
    lines = render_transcript(covered)
    tokens = sum(message.tokens for message in covered)
    budget = min(max(int(tokens * SUMMARY_SHARE), LEAST_SUMMARY), MOST_SUMMARY)
    language = main_language(line.text for line in lines if line.role is Role.USER)
    text = summarize(SummaryInput(lines, budget, language, None, participants(lines)), count=count_text)
    return render_summary(text, from_seq=covered[0].seq, to_seq=covered[-1].seq)


def memory_of(history: Sequence[Message], question: str) -> MemoryParams:
    """What preflight lets a request recall; a question that only goes on is about the task before it."""
    previous = None
    if is_follow_up(question):
        earlier = [find_question([message]) for message in history if message.starts_turn]
        for said in reversed(earlier[-MOST_ASKED:]):
            found = classify(said)
            if said and not is_follow_up(said) and found.categories != (Category.CASUAL,):
                previous = Previous(found.categories, 0.0, found.confidence or 1.0)
                break
    return classify(question, previous=previous).memory


def recall(covered: Sequence[Message], question: str, memory: MemoryParams) -> list[str]:
    """What recall shows of covered messages for a question, with the room that preflight leaves it.

    Args:
        covered: The messages that a summary stands for.
        question: The words of the request.
        memory: What preflight says; the limits are those of a request.
    """
    limits = limits_of(recall_settings(), memory, choose_budget(WINDOW_TOKENS, None))
    if limits.is_skipped or only_agrees(question):
        return []
    passages = make_passages(render_transcript(covered), turn_of=lambda seq: seq, count=count_text)
    blocks = select_recall(
        question, passages, max_tokens=limits.tokens, max_facts=limits.facts, count=count_text
    )
    return [block.text for block in blocks]


def newest(history: Sequence[Message], room: int) -> list[str]:
    """The newest texts that fit; the first one that does not is cut at its head, in tokens by its share."""
    kept: list[str] = []
    for message in reversed(history):
        texts = texts_of([message])
        if message.tokens > room:
            joined = "\n".join(texts)
            chars = len(joined) * max(room, 0) // max(message.tokens, 1)
            return [joined[len(joined) - chars :], *kept]
        kept = [*texts, *kept]
        room -= message.tokens
    return kept


def measure(name: str) -> Totals:
    """Replay the conversations of a set."""
    totals = Totals()
    for number, bodies in enumerate(read_conversations(name)):
        if number >= MOST_CONVERSATIONS:
            break
        talk = to_messages([body for body in bodies if body["role"] != "system"])
        for history, turn in reads(talk, SETS[name]):
            _read(totals, history, turn)
    return totals


def _read(totals: Totals, history: Sequence[Message], turn: Sequence[Message]) -> None:
    start = cut(history)
    notes = summary_of(history[:start])
    tail = history[start:]
    question = recall_question(turn[:1], history)
    recalled = recall(history[:start], question, memory_of(history, find_question(turn[:1])))
    size = count_text(notes) + sum(message.tokens for message in tail)
    large = size + sum(map(count_text, recalled))
    totals.reads += 1
    totals.raw_tokens += sum(message.tokens for message in history)
    served, needs = texts_of(history), needs_of(turn, new=1)
    short = [notes, *texts_of(tail)]
    others = {
        "summary": (size, short),
        "summary + recall": (large, [*short, *recalled]),
        "head cut off": (large, newest(history, large)),
    }
    for name, (tokens, other) in others.items():
        began = time.perf_counter()
        facts = compare_facts(served, other)
        totals.spent_s += time.perf_counter() - began
        loss = count_loss(
            needs.facts, both=pack(facts.both, SALT), lacking=pack(facts.lacking, SALT), salt=SALT
        )
        side = totals.sides[name]
        side.tokens += tokens
        side.needed += loss.needed
        side.lost += loss.lost


def main() -> None:
    """Measure every set that is there, print the table, write JSON."""
    rows = {name: measure(name).row() for name in SETS if (DATA / name).is_dir()}
    heads = f"{'set':<12} {'reads':>6} {'raw tokens':>11}  {'way':<17}"
    print(f"{heads} {'saving':>7} {'needed':>7} {'lost':>6}  share")
    for name, row in rows.items():
        for way in WAYS:
            side = row[way]
            share = side["lost_share"]
            said = f"{share[0]:.1%} ({share[1]:.1%} to {share[2]:.1%})" if share else "-"
            print(
                f"{name:<12} {row['reads']:>6} {row['raw_tokens']:>11,}  {way:<17} {side['saving']:>7.1%} "
                f"{side['facts_needed']:>7} {side['facts_lost']:>6}  {said}"
            )
    save("shadow", rows)


if __name__ == "__main__":
    main()
