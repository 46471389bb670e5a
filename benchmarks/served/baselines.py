"""What other ways would have shown in the same tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.recall import bm25, pack
from benchmarks.selecting import select_recall
from benchmarks.served.talks import Ask, Grade, Talk, Turn
from context.tokens.text import count_text

MOST_FACTS = 25
"""As in `benchmarks.recall`."""


@dataclass(frozen=True)
class Others:
    """The grades of the other ways; `whole` is None where all of history is more than the room."""

    bm25: Grade
    newest: Grade
    function: Grade
    whole: Grade | None


class Rivals:
    """One question to one conversation; scores are made once, for all budgets."""

    def __init__(self, talk: Talk, ask: Ask) -> None:
        """Score every turn."""
        self._talk, self._ask = talk, ask
        scores = bm25(ask.question, [turn.text for turn in talk.turns])
        self._order = sorted(range(len(scores)), key=lambda turn: -scores[turn])

    def at(self, tokens: int, room: int) -> Others:
        """Grade them all.

        Args:
            tokens: What history, summary, recall and artifacts took of the served window.
            room: What the window could have held of history.
        """
        turns, grade = self._talk.turns, self._ask.gold.grade
        chosen = pack(self._order, [turn.tokens for turn in turns], tokens)
        return Others(
            bm25=grade([turns[place].text for place in chosen]),
            newest=grade(newest(turns, tokens)),
            function=grade(self._recalled(tokens)),
            whole=grade([turn.text for turn in turns]) if self._talk.tokens <= room else None,
        )

    def _recalled(self, tokens: int) -> list[str]:
        blocks = select_recall(
            self._ask.question,
            self._talk.passages,
            max_tokens=tokens,
            max_facts=MOST_FACTS,
            count=count_text,
        )
        return [block.text for block in blocks]


def newest(turns: Sequence[Turn], room: int) -> list[str]:
    """The newest turns that fit; the first that does not is cut at its head, in tokens by its share."""
    kept: list[str] = []
    for turn in reversed(turns):
        if turn.tokens > room:
            chars = len(turn.text) * max(room, 0) // max(turn.tokens, 1)
            return [turn.text[len(turn.text) - chars :], *kept]
        kept = [turn.text, *kept]
        room -= turn.tokens
    return kept
