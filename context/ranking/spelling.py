"""Misspelled requests: where a catalog knows none of the words, the nearest that it knows stand for them."""

from collections.abc import Iterable, Iterator
from itertools import islice

from context.ranking.index import RankingIndex
from context.ranking.intent import Intent

MIN_CHARS = 5
"""Shorter words have too many neighbours."""
MAX_WORDS = 4
NEAR_WEIGHT = 0.6
"""How much a word counts that only resembles one of the intent."""


def correct_intent(index: RankingIndex, intent: Intent) -> Intent:
    """Replace the terms of an intent by similar ones, where the catalog and the lexicon know none of them.

    Args:
        index: The catalog's index.
        intent: What was asked.

    Returns:
        The intent itself, or one of terms that are one letter away, or that begin with one of its own.
    """
    if any(term in index.postings or term in index.lexicon for term in intent.terms):
        return intent
    found = {
        known: NEAR_WEIGHT * intent.terms[term]
        for term in islice(filter(_can_be_misspelled, intent.terms), MAX_WORDS)
        for known in find_near(term, (*index.postings, *index.lexicon))
    }
    return Intent(intent.text, found) if found else intent


def find_near(term: str, vocabulary: Iterable[str]) -> Iterator[str]:
    """Find the words that are one letter away from a word, or begin with it.

    Args:
        term: A word of at least `MIN_CHARS`.
        vocabulary: The words that there are.

    Returns:
        Those with the same first letter that differ by one letter more, less, other or swapped with its
        neighbour; and those that begin with the word.
    """
    size = len(term)
    for known in vocabulary:
        near = known[0] == term[0] and len(known) >= MIN_CHARS and abs(len(known) - size) <= 1
        if (near and is_one_edit(term, known)) or known.startswith(term):
            yield known


def is_one_edit(one: str, other: str) -> bool:
    """Tell whether one letter more, less, other or swapped with its neighbour makes one word the other."""
    if len(one) > len(other):
        one, other = other, one
    start = next((at for at, letter in enumerate(one) if letter != other[at]), len(one))
    rest, other_rest = one[start:], other[start:]
    if len(one) < len(other):
        return len(other) - len(one) == 1 and rest == other_rest[1:]
    swapped = rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:]
    return one != other and (swapped or rest[1:] == other_rest[1:])


def _can_be_misspelled(term: str) -> bool:
    return len(term) >= MIN_CHARS and term.isalpha()
