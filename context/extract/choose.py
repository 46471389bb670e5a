"""Choice of pieces: fill a budget with the pieces of an artifact relevant to a question."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from context.artifacts.types import ContentKind
from context.extract.index import PassageIndex
from context.extract.ranking import PieceRanking, rank_pieces
from context.extract.spans import NO_FRAME
from context.extract.weights import STEPS, prior_of

MARK_TOKENS = 4
"""Approximate cost of the mark of a new place, in tokens."""

_ENOUGH = 6.0
"""Number of pieces with a term that halves the value of the next piece."""
_COVERAGE = 0.2
"""Share of a piece's value that falls as its terms are covered."""
_ALL_ARE_READ = 5_000
"""Number of pieces up to which all are weighed; of a longer text, only pieces with terms of the question."""
_OPENS = 0.3
_PER_STRETCH = 4
_SAME = 1e-9


@dataclass(frozen=True)
class _Taste:
    """Weights for one kind of text.

    Attributes:
        cost_power: Preference for short pieces: 1 is value by token, 0 value alone.
        next_to: Bonus of a piece that continues a shown piece.
        least: Share of the best score below which a piece is irrelevant to the question.
        learns: True if the rare words of the best pieces count too.
    """

    cost_power: float
    next_to: float
    least: float
    learns: bool


_TALK = _Taste(cost_power=0.1, next_to=0.1, least=0.0, learns=True)
_PROSE = _Taste(cost_power=0.0, next_to=0.0, least=0.0, learns=False)
_RECORDS = _Taste(cost_power=0.4, next_to=0.05, least=0.05, learns=False)


def choose(index: PassageIndex, query: str, *, budget_tokens: int, text: str = "") -> list[int]:
    """Choose the pieces of an extract.

    Args:
        index: The artifact's index.
        query: The question; if it shares no words with the text, the extract is an outline.
        budget_tokens: The most tokens of the pieces, their frames and their marks, >= 0.
        text: The artifact; with it, the words around the question's own count too.

    Returns:
        Places in `index.pieces`, the most valuable first.
    """
    taste = _taste(index)
    ranking = rank_pieces(index, query, text if taste.learns else "")
    if not ranking.scores:
        return choose_outline(index, budget_tokens=budget_tokens)
    return _PieceChoice(index, _values(index, ranking, taste), ranking, taste, budget_tokens).fill()


def choose_outline(index: PassageIndex, *, budget_tokens: int) -> list[int]:
    """Choose pieces from every part of an artifact: the beginning first, then the best of each stretch.

    Args:
        index: The artifact's index.
        budget_tokens: The most tokens, >= 0.

    Returns:
        Places in `index.pieces`, the most valuable first.
    """
    pieces = len(index.pieces)
    if not pieces:
        return []
    mean = max(sum(index.tokens) / pieces, 1.0) + MARK_TOKENS
    stretches = max(min(int(budget_tokens / mean), pieces), 1)
    size = pieces / stretches
    values: dict[int, float] = {}
    for stretch in range(stretches):
        inside = range(int(stretch * size), max(int((stretch + 1) * size), int(stretch * size) + 1))
        best = max(inside, key=lambda at: (_outline_value(index, at), -at))
        values.update((at, _outline_value(index, at) / 4) for at in inside[:_PER_STRETCH])
        values[best] = 2.0 + _outline_value(index, best)
    values[0] = 4.0
    return _PieceChoice(index, values, PieceRanking({}, {}, {}), _PROSE, budget_tokens).fill()


def _outline_value(index: PassageIndex, at: int) -> float:
    """Return the value in an outline: higher for the start of a section, a function or a file."""
    opens = at == 0 or index.innermost[at] != index.innermost[at - 1]
    return index.salience[at] / STEPS + _OPENS * opens + 0.01


def _taste(index: PassageIndex) -> _Taste:
    if index.is_prose:
        return _PROSE
    return _TALK if index.kind in {ContentKind.TEXT, ContentKind.HTML, ContentKind.MARKDOWN} else _RECORDS


def _values(index: PassageIndex, ranking: PieceRanking, taste: _Taste) -> dict[int, float]:
    """Return the value of each piece for the question; in prose, also the weight in the whole text."""
    if not index.is_prose:
        return {at: score for at, score in ranking.scores.items() if score >= taste.least}
    lowest = prior_of(min(index.salience))
    weighed = range(len(index.pieces)) if len(index.pieces) <= _ALL_ARE_READ else sorted(ranking.scores)
    return {at: ranking.scores.get(at, 0.0) + prior_of(index.salience[at]) - lowest for at in weighed}


@dataclass
class _PieceChoice:
    """Greedy choice of the piece with the most value for its cost, until nothing fits.

    The value of a piece falls with the pieces taken, and its cost falls when a neighbour is taken; both are
    computed anew at the piece's turn.
    """

    index: PassageIndex
    values: Mapping[int, float]
    ranking: PieceRanking
    taste: _Taste
    left: int
    taken: list[int] = field(default_factory=list)
    _is_taken: set[int] = field(default_factory=set)
    _paid: set[int] = field(default_factory=set)
    _times: dict[str, int] = field(default_factory=dict)
    _chains: dict[int, Sequence[int]] = field(default_factory=lambda: {NO_FRAME: ()})

    def fill(self) -> list[int]:
        """Take pieces while they fit."""
        waiting = [(-self._priority(at), at) for at in self.values]
        heapq.heapify(waiting)
        cheapest = min((self.index.tokens[at] for at in self.values), default=0) - MARK_TOKENS
        while waiting and self.left > cheapest:
            before, at = heapq.heappop(waiting)
            if at in self._is_taken or self._cost(at) > self.left:
                continue
            now = -self._priority(at)
            if now > before + _SAME and waiting and now > waiting[0][0]:
                heapq.heappush(waiting, (now, at))
                continue
            self._take(at)
            for near in (at - 1, at + 1):
                if near in self.values and near not in self._is_taken:
                    heapq.heappush(waiting, (-self._priority(near), near))
        return self.taken

    def _take(self, at: int) -> None:
        self.left -= self._cost(at)
        self.taken.append(at)
        self._is_taken.add(at)
        self._paid.update(self._frames_of(at))
        for term in self.ranking.held.get(at, ()):
            self._times[term] = self._times.get(term, 0) + 1

    def _cost(self, at: int) -> int:
        touching = (at - 1 in self._is_taken) + (at + 1 in self._is_taken)
        frames = 0
        for frame in self._frames_of(at):
            if frame not in self._paid:
                frames += self.index.frame_tokens[frame]
        return max(self.index.tokens[at] + frames + MARK_TOKENS * (1 - touching), 1)

    def _frames_of(self, at: int) -> Sequence[int]:
        """List the frames of a piece; pieces of one frame share the list."""
        innermost = self.index.innermost[at]
        chain = self._chains.get(innermost)
        if chain is None:
            chain = self._chains[innermost] = self.index.frames_of(at)
        return chain

    def _priority(self, at: int) -> float:
        said = 0.0
        for term in self.ranking.held.get(at, ()):
            times = self._times.get(term, 0)
            said += self.ranking.weights[term] * times / (times + _ENOUGH)
        value = self.values[at] * (1 - _COVERAGE * said)
        if at - 1 in self._is_taken or at + 1 in self._is_taken:
            value += self.taste.next_to
        return value / float(self._cost(at) ** self.taste.cost_power)
