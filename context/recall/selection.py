"""Selection: the blocks of older conversation that a request gets to see again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from context.recall.passages import Passage
from context.recall.ranking import RecallStats, score_passages, weigh_terms
from context.recall.words import query_terms

_ELLIPSIS = "\u2026"
_INDENT = "\n    "
"""What follows a line break is indented, so that no text can pass as another speaker's."""
_MIN_SHARE = 0.1
"""What scores below this share of the best is noise."""
_REPEAT_TOKENS = 12
"""A text this long is shown once, however often it was said; a nod may come twice."""


@dataclass(frozen=True)
class RecallBlock:
    """A stretch of the older conversation, word for word.

    Attributes:
        from_seq: The first message that it shows, or shows a part of.
        to_seq: The last.
        from_turn: The turn of the first.
        to_turn: The turn of the last.
        text: Its messages, each after its speaker's name; an ellipsis where a message is cut.
        tokens: The text's count, >= 1.
        score: That of its best passage.
    """

    from_seq: int
    to_seq: int
    from_turn: int
    to_turn: int
    text: str
    tokens: int
    score: float


def stats_of(passages: Sequence[Passage], terms: Iterable[str]) -> RecallStats:
    """Count in how many passages each term occurs, where all passages of a session are at hand."""
    return RecallStats(
        len(passages), {term: sum(term in passage.terms for passage in passages) for term in terms}
    )


def select_recall(
    query: str,
    passages: Sequence[Passage],
    *,
    max_tokens: int,
    max_facts: int,
    count: Callable[[str], int],
    stats: RecallStats | None = None,
) -> list[RecallBlock]:
    """Choose what a request should see again of the turns that its window does not show.

    Args:
        query: The new message.
        passages: The session's passages, or those found for the query, in the order of their numbers.
        max_tokens: The most tokens of all blocks together, >= 0.
        max_facts: The most blocks, >= 0.
        count: Counts the tokens of a block's text, and of whatever the caller puts around it.
        stats: The session's counts; None where `passages` is all of it.

    Returns:
        The blocks, in the order of the conversation; none where nothing bears on the query.
    """
    if max_tokens <= 0 or max_facts <= 0 or not passages:
        return []
    terms = query_terms(query)
    weights = weigh_terms(terms, stats or stats_of(passages, terms))
    if not weights:
        return []
    scores = {
        passage.number: score
        for passage, score in zip(passages, score_passages(passages, weights), strict=True)
    }
    chosen = _choose(passages, scores, max_tokens=max_tokens, max_facts=max_facts)
    return _fit(chosen, scores, max_tokens=max_tokens, count=count)


def _choose(
    passages: Sequence[Passage], scores: Mapping[int, float], *, max_tokens: int, max_facts: int
) -> dict[int, Passage]:
    """Take the best passages that fit; of equals the newest. Neighbours make one block."""
    waiting = sorted(passages, key=lambda passage: (-scores[passage.number], -passage.number))
    floor = scores[waiting[0].number] * _MIN_SHARE
    waiting = [passage for passage in waiting if scores[passage.number] > floor]
    choice = _Choice(max_tokens, max_facts)
    size = -1
    while waiting and len(choice.chosen) > size:
        size = len(choice.chosen)
        waiting = [passage for passage in waiting if choice.must_wait(passage)]
    return choice.chosen


class _Choice:
    """What is chosen so far. A passage that would open a block too many waits until it has a neighbour."""

    def __init__(self, max_tokens: int, max_facts: int) -> None:
        self.chosen: dict[int, Passage] = {}
        self._said: set[str] = set()
        self._left = max_tokens
        self._free = max_facts

    def must_wait(self, passage: Passage) -> bool:
        """Take it, leave it for good, or say that it has to wait."""
        repeats = passage.tokens >= _REPEAT_TOKENS and passage.text in self._said
        if repeats or passage.tokens > self._left:
            return False
        opened = 1 - (passage.number - 1 in self.chosen) - (passage.number + 1 in self.chosen)
        if opened > self._free:
            return True
        self.chosen[passage.number] = passage
        self._said.add(passage.text)
        self._left -= passage.tokens
        self._free -= opened
        return False


def _fit(
    chosen: dict[int, Passage],
    scores: Mapping[int, float],
    *,
    max_tokens: int,
    count: Callable[[str], int],
) -> list[RecallBlock]:
    """Write the blocks; what ellipses and labels add is paid at the weakest ends: no block splits."""
    blocks = _blocks(chosen, scores, count)
    while (over := sum(block.tokens for block in blocks) - max_tokens) > 0:
        while over > 0 and chosen:
            ends = (n for n in chosen if n - 1 not in chosen or n + 1 not in chosen)
            over -= chosen.pop(min(ends, key=scores.__getitem__)).tokens
        blocks = _blocks(chosen, scores, count)
    return blocks


def _blocks(
    chosen: Mapping[int, Passage], scores: Mapping[int, float], count: Callable[[str], int]
) -> list[RecallBlock]:
    return [_block(stretch, scores, count) for stretch in _stretches(chosen)]


def _stretches(chosen: Mapping[int, Passage]) -> list[list[Passage]]:
    numbers = sorted(chosen)
    starts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(numbers)) if b != a + 1), len(numbers)]
    return [[chosen[number] for number in numbers[a:b]] for a, b in pairwise(starts) if a < b]


def _block(
    stretch: Sequence[Passage], scores: Mapping[int, float], count: Callable[[str], int]
) -> RecallBlock:
    lines = groupby(stretch, key=lambda passage: (passage.seq, passage.line))
    text = "\n".join(_write_line(list(line)) for _, line in lines)
    first, last = stretch[0], stretch[-1]
    return RecallBlock(
        first.seq,
        last.seq,
        first.turn_index,
        last.turn_index,
        text,
        count(text),
        max(scores[passage.number] for passage in stretch),
    )


def _write_line(line: Sequence[Passage]) -> str:
    """Show who speaks even where the beginning is cut, and that it is."""
    first, last = line[0], line[-1]
    head = f"{first.speaker}: " if first.speaker else ""
    before = "" if first.part == 0 else f"{_ELLIPSIS} "
    after = "" if last.part + 1 == last.parts else f" {_ELLIPSIS}"
    words = "".join(passage.text for passage in line).strip().replace("\n", _INDENT)
    return f"{head}{before}{words}{after}"
