"""Choice of pieces: ranked by a question, with the context around each, until the budget is full."""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from context.artifacts.types import ContentKind
from context.extract.index import PassageIndex
from context.extract.spans import NO_FRAME, STEPS, prior_of
from context.recall.ranking import (
    REACH_TOKENS,
    RecallStats,
    fades_between,
    score_held,
    weigh_terms,
    whole_scores,
)
from context.text.terms import index_terms, query_terms

_SCORED_WHOLE = 1_500
"""Number of pieces up to which all are scored; beyond, only pieces with a term, and neighbours."""
_MOST_HITS = 500
_AROUND = 2
_MOST_FORMS = 4
_SHORTEST_FORM = 4

_LEARNED_FROM = 30
"""Number of best pieces from which related words are learned."""
_LEARNED_TERMS = 40
_LEARNED_SHARE = 0.3
_LEARNED_SATURATION = 20.0
_LEARNED_REACH = 1.5
_COMMONEST = 0.15
_SHORTEST_LEARNED = 3


@dataclass(frozen=True)
class PieceRanking:
    """The pieces relevant to a question.

    Attributes:
        scores: A score for each piece, in (0, 1]; the best has 1.
        held: The question's terms in each piece, the rarest first.
        weights: The terms found, with weights that add up to 1.
    """

    scores: Mapping[int, float]
    held: Mapping[int, Sequence[str]]
    weights: Mapping[str, float]


def rank_pieces(index: PassageIndex, query: str, text: str = "") -> PieceRanking:
    """Score the pieces of an artifact by a question.

    Args:
        index: The artifact's index.
        query: The question.
        text: The artifact; with it, words related to the question's own in the best pieces count too.

    Returns:
        The ranking; without pieces if the text has no word of the question.
    """
    terms = query_terms(query)
    places = {term: _places(index, term) for term in terms}
    stats = RecallStats(len(index.pieces), {term: len(found) for term, found in places.items()})
    weights = weigh_terms(terms, stats)
    if not weights:
        return PieceRanking({}, {}, {})
    held = _held(places, weights)
    near = (
        range(len(index.pieces)) if len(index.pieces) <= _SCORED_WHOLE else _around(held, len(index.pieces))
    )
    is_whole = len(near) == len(index.pieces)
    centres = index.centres if is_whole else index.centres_of(near)
    fades = index.fades if is_whole else fades_between(centres)
    scores = whole_scores(*score_held([held.get(place, ()) for place in near], fades, weights))
    if text:
        scores = _Learner(index, near, centres, weights).add(scores, text)
    best = max(scores)
    return PieceRanking(
        {place: score / best for place, score in zip(near, scores, strict=True) if score > 0}, held, weights
    )


def _places(index: PassageIndex, term: str) -> list[int]:
    """List the pieces with a term; for an unknown term, the pieces with words that begin with the term."""
    found = index.places(term)
    if found or len(term) < _SHORTEST_FORM:
        return found
    forms = index.beginning_with(term, limit=_MOST_FORMS)
    return sorted({place for form in forms for place in index.places(form)})


def _held(places: Mapping[str, Sequence[int]], weights: Mapping[str, float]) -> dict[int, list[str]]:
    """List the terms of each piece, the rarest first; once enough pieces are found, no piece is added."""
    held: dict[int, list[str]] = {}
    for term in weights:
        room = _MOST_HITS - len(held)
        found = places[term]
        step = max(-(-len(found) // room), 1) if room > 0 else 0
        for at, place in enumerate(found):
            if place in held:
                held[place].append(term)
            elif step and at % step == 0:
                held[place] = [term]
    return held


def _around(held: Iterable[int], pieces: int) -> list[int]:
    near = {place + step for place in held for step in range(-_AROUND, _AROUND + 1)}
    return sorted(place for place in near if 0 <= place < pieces)


@dataclass(frozen=True)
class _Learner:
    """Learner of rare words from the best pieces, all together counted as one term."""

    index: PassageIndex
    near: Sequence[int]
    centres: Sequence[float]
    weights: Mapping[str, float]

    def add(self, scores: Sequence[float], text: str) -> list[float]:
        """Mix the learned words into scores."""
        learned = self._terms(scores, text)
        total = sum(learned.values())
        if not total:
            return list(scores)
        where = {place: at for at, place in enumerate(self.near)}
        mentions = [0.0] * len(self.near)
        for term, value in learned.items():
            for place in self.index.places(term):
                if place in where:
                    mentions[where[place]] += value / total * len(learned) / 2
        around = _spread(mentions, self.centres)
        return [
            (1 - _LEARNED_SHARE) * score + _LEARNED_SHARE * said / (said + _LEARNED_SATURATION)
            for score, said in zip(scores, around, strict=True)
        ]

    def _terms(self, scores: Sequence[float], text: str) -> dict[str, float]:
        best = sorted(range(len(self.near)), key=lambda at: (-scores[at], at))[:_LEARNED_FROM]
        worth: dict[str, float] = {}
        for at in best:
            piece = self.index.pieces[self.near[at]]
            for term in index_terms(text[piece.start : piece.end]):
                worth[term] = worth.get(term, 0.0) + scores[at]
        rated = {
            term: value * self._rarity(term) for term, value in worth.items() if term not in self.weights
        }
        ranked = sorted((term for term in rated if rated[term] > 0), key=lambda term: (-rated[term], term))
        return {term: rated[term] for term in ranked[:_LEARNED_TERMS]}

    def _rarity(self, term: str) -> float:
        """Return the rarity of a term; 0 for terms found once or nearly everywhere, and for short terms."""
        used, pieces = self.index.frequency(term), len(self.index.pieces)
        if not 1 < used <= _COMMONEST * pieces or len(term) < _SHORTEST_LEARNED:
            return 0.0
        return math.log(1 + (pieces - used + 0.5) / (used + 0.5))


def _spread(mentions: Sequence[float], centres: Sequence[float]) -> list[float]:
    """Add up the mentions on both sides of each place, faded by distance."""
    reach = REACH_TOKENS * _LEARNED_REACH
    fades = [math.exp((a - b) / reach) for a, b in pairwise(centres)]
    sums = list(mentions)
    carried = 0.0
    for at in range(1, len(mentions)):
        carried = (carried + mentions[at - 1]) * fades[at - 1]
        sums[at] += carried
    carried = 0.0
    for at in range(len(mentions) - 2, -1, -1):
        carried = (carried + mentions[at + 1]) * fades[at]
        sums[at] += carried
    return sums


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
        waiting = [(-self._first_priority(at, value), at) for at, value in self.values.items()]
        heapq.heapify(waiting)
        cheapest = min((self.index.tokens[at] for at in self.values), default=0) - MARK_TOKENS
        while waiting and self.left > cheapest:
            before, at = heapq.heappop(waiting)
            if at in self._is_taken or (cost := self._cost(at)) > self.left:
                continue
            now = -self._priority(at, cost)
            if now > before + _SAME and waiting and now > waiting[0][0]:
                heapq.heappush(waiting, (now, at))
                continue
            self._take(at, cost)
            for near in (at - 1, at + 1):
                if near in self.values and near not in self._is_taken:
                    heapq.heappush(waiting, (-self._priority(near, self._cost(near)), near))
        return self.taken

    def _take(self, at: int, cost: int) -> None:
        self.left -= cost
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

    def _first_priority(self, at: int, value: float) -> float:
        """Return the priority of a piece before any is taken."""
        frames = sum([self.index.frame_tokens[frame] for frame in self._frames_of(at)])
        return value / float((self.index.tokens[at] + frames + MARK_TOKENS) ** self.taste.cost_power)

    def _priority(self, at: int, cost: int) -> float:
        said = 0.0
        for term in self.ranking.held.get(at, ()):
            times = self._times.get(term, 0)
            said += self.ranking.weights[term] * times / (times + _ENOUGH)
        value = self.values[at] * (1 - _COVERAGE * said)
        if at - 1 in self._is_taken or at + 1 in self._is_taken:
            value += self.taste.next_to
        return value / float(cost**self.taste.cost_power)
