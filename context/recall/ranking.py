"""Ranking: how much a passage says of what is asked, and how much is said around it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

REACH_TOKENS = 400
"""A word counts for its surroundings too: e times less at this distance."""
MAX_TERMS = 16
"""The most terms of a question that are scored, the rarest first."""

_SLOT_TOKENS = 25
_MARGIN_TOKENS = 150
_LOAD_FACTOR = 2
_SATURATION = 4.0
"""So many mentions around count half: a place that speaks of all that is asked beats one that repeats."""
_COVERAGE_POWER = 3
"""A passage that holds nearly all that is asked stands out by itself; one with a third of it hardly does."""


class Placed(Protocol):
    """What is ranked: a passage, or the place of one."""

    @property
    def centre(self) -> float:
        """Its middle, in tokens from the start of the session."""

    @property
    def terms(self) -> frozenset[str]:
        """Its terms; others than those asked for do no harm."""


@dataclass(frozen=True)
class Hit:
    """The place of a passage that has a term of the question; its words are not loaded yet.

    Attributes:
        start: Tokens of all passages before it, >= 0.
        tokens: Its own, >= 1.
        terms: Those terms of the question that it has.
    """

    start: int
    tokens: int
    terms: frozenset[str]

    @property
    def centre(self) -> float:
        """Its middle, in tokens from the start of the session."""
        return self.start + self.tokens / 2


@dataclass(frozen=True)
class RecallStats:
    """What is known of a session's passages as a whole.

    Attributes:
        passages: How many there are, >= 0.
        frequencies: In how many of them each term of the question occurs.
    """

    passages: int
    frequencies: Mapping[str, int]

    def __add__(self, other: "RecallStats") -> "RecallStats":
        """Count two sets of passages together."""
        terms = {**self.frequencies, **other.frequencies}
        sums = {term: self.frequencies.get(term, 0) + other.frequencies.get(term, 0) for term in terms}
        return RecallStats(self.passages + other.passages, sums)


def weigh_terms(terms: Sequence[str], stats: RecallStats, *, limit: int = MAX_TERMS) -> dict[str, float]:
    """Weigh the terms of a question by how rarely the session uses them.

    Args:
        terms: The terms of the question.
        stats: The session's counts.
        limit: The most terms that are kept, the rarest, >= 1.

    Returns:
        The terms that occur, rarest first, with weights that add up to 1; none where none occurs.
    """
    known = {term: stats.frequencies.get(term, 0) for term in terms}
    rarest = sorted((term for term, frequency in known.items() if frequency > 0), key=known.__getitem__)[
        :limit
    ]
    weights = {term: _rarity(known[term], max(stats.passages, known[term])) for term in rarest}
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()}


def find_worth(places: Sequence[Placed], stats: RecallStats) -> float:
    """Say how much of a question the best of some passages covers, by the rarity of its terms.

    Two searches for one question are compared by it, with their counts added up.

    Args:
        places: Passages with those terms of the question that they have.
        stats: The counts, of terms that nobody used too.

    Returns:
        A share in [0, 1]; 0 where no passage has a term.
    """
    known = stats.frequencies
    weights = {term: _rarity(known[term], max(stats.passages, known[term])) for term in known}
    total = sum(weights.values())
    best = max((sum(weights.get(term, 0.0) for term in place.terms) for place in places), default=0.0)
    return best / total if total else 0.0


def known_share(stats: RecallStats, weights: Mapping[str, float]) -> float:
    """Say how much of a question a session has ever spoken of.

    Args:
        stats: The session's counts, for every term of the question.
        weights: Those of `weigh_terms`.

    Returns:
        The weight of the terms that are scored, as a share of that and of the terms that never occur; 0 of
        a question of which none occurs.
    """
    known = sum(_rarity(stats.frequencies[term], stats.passages) for term in weights)
    unknown = sum(frequency == 0 for frequency in stats.frequencies.values())
    return known / (known + unknown * _rarity(0, stats.passages)) if known > 0 else 0.0


def _rarity(frequency: int, passages: int) -> float:
    return math.log(1 + (passages - frequency + 0.5) / (frequency + 0.5))


def score_passages(places: Sequence[Placed], weights: Mapping[str, float]) -> list[float]:
    """Score passages by what they say of the question and by what is said around them.

    Args:
        places: Passages in the order of the session.
        weights: The weights of `weigh_terms`.

    Returns:
        As many scores, in their order, each in [0, 2).
    """
    if not places:
        return []
    centres = [place.centre for place in places]
    fades = [1.0, *(math.exp((a - b) / REACH_TOKENS) for a, b in pairwise(centres))]
    scores = [0.0] * len(places)
    coverage = [0.0] * len(places)
    for term, weight in weights.items():
        own = [1.0 if term in place.terms else 0.0 for place in places]
        for i, mentions in enumerate(_mentions_around(own, fades)):
            scores[i] += weight * mentions / (mentions + _SATURATION)
            coverage[i] += weight * own[i]
    return [score + share**_COVERAGE_POWER for score, share in zip(scores, coverage, strict=True)]


def _mentions_around(own: Sequence[float], fades: Sequence[float]) -> list[float]:
    """Add up the mentions on both sides of each place, each faded by its distance; its own count once."""
    sums = []
    before = after = 0.0
    for mention, fade in zip(own, fades, strict=True):
        before = before * fade + mention
        sums.append(before)
    for i in range(len(own) - 1, -1, -1):
        sums[i] += after
        after = (after + own[i]) * fades[i]
    return sums


def find_ranges(
    hits: Sequence[Hit], weights: Mapping[str, float], *, max_tokens: int
) -> list[tuple[int, int]]:
    """Say which stretches of a session are worth loading: the best hits, and what surrounds the best of them.

    Args:
        hits: Passages that have terms of the question, in the order of the session.
        weights: The weights of `weigh_terms`.
        max_tokens: How much will be shown, > 0; about four times as much is loaded.

    Returns:
        Disjoint ranges of tokens, first and last, in order; a passage that starts in one is in it.
    """
    scores = score_passages(hits, weights)
    ranked = sorted(zip(scores, hits, strict=True), key=lambda pair: (-pair[0], -pair[1].start))
    best = [hit for _, hit in ranked]
    slots = _cover(best, margin=0, tokens=max_tokens * _LOAD_FACTOR)
    slots |= _cover(best, margin=_MARGIN_TOKENS, tokens=max_tokens * _LOAD_FACTOR)
    return _join_slots(slots)


def _cover(hits: Iterable[Hit], *, margin: int, tokens: int) -> set[int]:
    slots: set[int] = set()
    for hit in hits:
        if len(slots) * _SLOT_TOKENS >= tokens:
            break
        first = max(hit.start - margin, 0) // _SLOT_TOKENS
        slots.update(range(first, (hit.start + hit.tokens - 1 + margin) // _SLOT_TOKENS + 1))
    return slots


def _join_slots(slots: Iterable[int]) -> list[tuple[int, int]]:
    ordered = sorted(slots)
    breaks = [i + 1 for i, (a, b) in enumerate(pairwise(ordered)) if b != a + 1]
    edges = pairwise([0, *breaks, len(ordered)])
    return [(ordered[a] * _SLOT_TOKENS, (ordered[b - 1] + 1) * _SLOT_TOKENS - 1) for a, b in edges if a < b]
