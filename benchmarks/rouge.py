"""ROUGE: how much a text shares with what people wrote; recall, precision and their harmonic mean."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from context.text.terms import index_terms

_WORD = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return next(iter(index_terms(word)), word)


def words_of(text: str) -> list[str]:
    """The words of an English text, in small letters and stemmed."""
    return [_stem(word) for word in _WORD.findall(text.lower())]


def rouge_n(found: Sequence[str], wanted: Sequence[str], n: int) -> float:
    """F1 of the stretches of n words that both have, in [0, 1]."""
    mine = Counter(zip(*(found[i:] for i in range(n)), strict=False))
    theirs = Counter(zip(*(wanted[i:] for i in range(n)), strict=False))
    return _f1((mine & theirs).total(), mine.total(), theirs.total())


def rouge_l(found: Sequence[str], wanted: Sequence[str]) -> float:
    """F1 of the longest sequence of words that both have in order, in [0, 1]."""
    return _f1(_longest_common(found, wanted), len(found), len(wanted))


def _f1(shared: int, found: int, wanted: int) -> float:
    return 2 * shared / (found + wanted) if found + wanted else 0.0


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Count bits: a column of the table is one integer, so that long texts take milliseconds."""
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    full = (1 << len(one)) - 1
    row = full
    for word in other:
        match = row & places.get(word, 0)
        row = ((row + match) | (row - match)) & full
    return len(one) - row.bit_count()
