"""Ranking of an artifact's pieces by a question, with the context around each piece."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from context.artifacts.types import ContentKind
from context.extract.index import PassageIndex
from context.recall.ranking import REACH_TOKENS, Hit, RecallStats, score_passages, weigh_terms
from context.text.terms import index_terms, query_terms

_REACH = {
    ContentKind.CODE: 200,
    ContentKind.DIFF: 100,
    ContentKind.LOG: 100,
    ContentKind.JSON: 60,
    ContentKind.TABLE: 20,
}
"""Distance in tokens at which a mention counts e times less; rows and records hardly mention neighbours."""
_PROSE_REACH = 200
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
    hits = _hits(index, near, held)
    scores = score_passages(hits, weights)
    if text:
        scores = _Learner(index, near, hits, weights).add(scores, text)
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


def _hits(index: PassageIndex, near: Sequence[int], held: Mapping[int, Sequence[str]]) -> list[Hit]:
    """Convert the pieces to the scale of the conversation ranking."""
    reach = _PROSE_REACH if index.is_prose else _REACH.get(index.kind, REACH_TOKENS)
    stretch = REACH_TOKENS / reach
    hits, start, before = [], 0.0, 0
    for place in near:
        start += sum(index.tokens[before:place]) * stretch
        hits.append(
            Hit(int(start), max(int(index.tokens[place] * stretch), 1), frozenset(held.get(place, ())))
        )
        before = place
    return hits


@dataclass(frozen=True)
class _Learner:
    """Learner of rare words from the best pieces, all together counted as one term."""

    index: PassageIndex
    near: Sequence[int]
    hits: Sequence[Hit]
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
        around = _spread(mentions, [hit.centre for hit in self.hits])
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
