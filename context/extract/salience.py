"""Salience: what each piece is worth before anybody asks, by the words of the whole text."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean, pstdev

STEPS = 255
"""Salience is kept in so many steps, from 0."""

_PLAIN = 0.15
_SPOKEN = 0.25
_MOST_SPOKEN = 2.0
_CHARS_PER_QUOTE = 50
_LOWEST = -0.8
_RANGE = 1.2
_QUOTES = '"\u201c\u201d\u00ab\u00bb\u300c\u300d'
_FEW_WORDS = 6
_FAR = 3.0


def topical(postings: Sequence[Sequence[int]], pieces: int) -> list[int]:
    """Rate pieces by the words that the text uses often, though not everywhere.

    Args:
        postings: For each term the pieces that have it.
        pieces: How many pieces there are.

    Returns:
        As many numbers, 0-255.
    """
    rated = _sums(
        postings, pieces, lambda used: math.log(used) * math.log(pieces / used) if used > 1 else 0.0
    )
    dense = [total / math.sqrt(size + 4) for total, size in rated]
    top = max(dense, default=0.0) or 1.0
    return [round(STEPS * value / top) for value in dense]


def narrative(postings: Sequence[Sequence[int]], shown: Sequence[str]) -> list[int]:
    """Rate pieces of running text: what is told in the text's own common words before what is quoted.

    Args:
        postings: For each term the pieces that have it.
        shown: The words of each piece.

    Returns:
        As many numbers, 0-255.
    """
    rated = _sums(postings, len(shown), lambda used: math.log(1 + used))
    plain = _standard([total / (size + _FEW_WORDS) for total, size in rated])
    priors = [_PLAIN * value - _SPOKEN * _spoken(words) for value, words in zip(plain, shown, strict=True)]
    return [round(STEPS * min(max((prior - _LOWEST) / _RANGE, 0.0), 1.0)) for prior in priors]


def prior_of(salience: int) -> float:
    """Read a number of `narrative` as what it adds to a score whose best is 1."""
    return salience / STEPS * _RANGE + _LOWEST


def _sums(
    postings: Sequence[Sequence[int]], pieces: int, worth: Callable[[int], float]
) -> list[tuple[float, int]]:
    """For each piece, what its terms are worth together, and how many they are."""
    totals, sizes = [0.0] * pieces, [0] * pieces
    for places in postings:
        value = worth(len(places))
        for place in places:
            totals[place] += value
            sizes[place] += 1
    return list(zip(totals, sizes, strict=True))


def _standard(values: Sequence[float]) -> list[float]:
    """Measure in standard deviations from the mean, at most three."""
    if not values:
        return []
    mean, deviation = fmean(values), pstdev(values) or 1.0
    return [max(-_FAR, min(_FAR, (value - mean) / deviation)) for value in values]


def _spoken(words: str) -> float:
    quotes = sum(words.count(mark) for mark in _QUOTES)
    return min(quotes * _CHARS_PER_QUOTE / max(len(words), 1), _MOST_SPOKEN)
