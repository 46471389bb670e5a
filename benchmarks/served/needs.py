"""Tasks of an agent: which facts of its history does the next turn go by, and does the window hold them?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from afterturn.conversations.formats import EventLine
from benchmarks.served.files import read_rows
from benchmarks.served.planted import events_of
from benchmarks.served.talks import Ask, Grade, Talk, Turn, make_turns
from context.shadow.facts import compare_facts, names_in, needs_of, texts_of
from context.tokens.text import count_text

LEAST_TOKENS = 1_500
"""A shorter history fits every window, and nothing is lost of it."""

_names = lru_cache(maxsize=50_000)(names_in)


@dataclass(frozen=True)
class NeededGold:
    """Facts of a history that the next turn goes by, found in a window as shadow mode finds them.

    Attributes:
        history: The texts in which they were said.
        facts: The facts, folded.
    """

    history: tuple[str, ...]
    facts: frozenset[str]

    def grade(self, texts: Sequence[str]) -> Grade:
        """Count those that are there; all of them make the piece present."""
        lacking = compare_facts(self.history, texts, find=_names).lacking & self.facts
        return Grade(1 - len(lacking) / len(self.facts), float(not lacking), len(self.facts))


def tasks(data: Path, _form: str) -> Iterator[Talk]:
    """Read an airline's help desk: each moment with enough history is a session, asked what came next."""
    for row in read_rows(data / "tau_airline", lambda row: isinstance(row.get("messages"), list)):
        turns = make_turns(events_of([EventLine(body) for body in row["messages"]]))
        for place in range(2, len(turns)):
            if sum(map(_stored_tokens, turns[:place])) < LEAST_TOKENS:
                continue
            name = f"{row['id']}-{place}"
            gold = _needed(turns[:place], turns[place])
            if gold.facts:
                ask = Ask(name, turns[place].event["messages"][0], gold)
                yield Talk(name, turns[:place], (ask,))


def _stored_tokens(turn: Turn) -> int:
    """Count messages as they are stored, JSON and all."""
    return sum(count_text(message.raw) for message in turn.messages)


def _needed(history: Sequence[Turn], turn: Turn) -> NeededGold:
    """Facts that the new message says itself are in every window, and are left out."""
    texts = tuple(text for one in history for text in texts_of(one.messages))
    said = compare_facts(texts_of(turn.messages[:1]), []).lacking
    known = compare_facts(texts, [], find=_names).lacking
    return NeededGold(texts, (needs_of(turn.messages, new=1).facts & known) - said)
