"""Ranking: how much a passage says of what is asked, and how much is said around it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

REACH_TOKENS = 400
"""A word counts for its surroundings too: e times less at this distance."""
MAX_TERMS = 16
"""The most terms of a question that are scored, the rarest first."""

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
class RecallStats:
    """What is known of a session's passages as a whole.

    Attributes:
        passages: How many there are, >= 0.
        frequencies: In how many of them each term of the question occurs.
    """

    passages: int
    frequencies: Mapping[str, int]


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
    asked = tuple(weights.items())
    own = [tuple(float(term in place.terms) for term, _ in asked) for place in places]
    centres = [place.centre for place in places]
    before = _fading_sums(own, centres)
    after = _fading_sums(own[::-1], [-centre for centre in reversed(centres)])[::-1]
    return [_score(*rows, asked) for rows in zip(own, before, after, strict=True)]


def _fading_sums(own: Sequence[Sequence[float]], centres: Sequence[float]) -> list[list[float]]:
    """For each place and term, the mentions so far, each faded by its distance."""
    sums: list[list[float]] = []
    current = [0.0] * len(own[0]) if own else []
    last = centres[0] if centres else 0.0
    for mentions, centre in zip(own, centres, strict=True):
        fade = math.exp((last - centre) / REACH_TOKENS)
        current = [value * fade + mention for value, mention in zip(current, mentions, strict=True)]
        sums.append(current)
        last = centre
    return sums


def _score(
    own: Sequence[float], before: Sequence[float], after: Sequence[float], asked: Sequence[tuple[str, float]]
) -> float:
    around = coverage = 0.0
    for (_, weight), mention, left, right in zip(asked, own, before, after, strict=True):
        mentions = left + right - mention
        around += weight * mentions / (mentions + _SATURATION)
        coverage += weight * mention
    return around + coverage**_COVERAGE_POWER
