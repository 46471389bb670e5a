"""Spelling correction of requests without any known word: the nearest known words are used."""

from collections.abc import Iterable, Iterator
from itertools import islice

from context.ranking.index import RankingIndex
from context.ranking.intent import Intent

MIN_CHARS = 5
"""Shorter words have too many neighbours."""
MAX_WORDS = 4
NEAR_WEIGHT = 0.6
"""Weight of a corrected word."""


def correct_intent(index: RankingIndex, intent: Intent) -> Intent:
    """Replace an intent's terms by similar terms, if neither the catalog nor the lexicon knows any.

    Args:
        index: The catalog's index.
        intent: The parsed intent.

    Returns:
        The intent itself, or an intent of known terms at a distance of a single letter, or with an own term
        as their beginning.
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
    """Find words at a distance of a single letter, or with the word as their beginning.

    Args:
        term: A word of at least `MIN_CHARS`.
        vocabulary: The known words.

    Returns:
        Words with the same first letter and a single letter added, missing, changed or swapped with its
        neighbour; and longer words beginning with the term.
    """
    size = len(term)
    for known in vocabulary:
        near = known[0] == term[0] and len(known) >= MIN_CHARS and abs(len(known) - size) <= 1
        if (near and is_one_edit(term, known)) or known.startswith(term):
            yield known


def is_one_edit(one: str, other: str) -> bool:
    """Tell whether two words differ by a single letter added, missing, changed or swapped."""
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
