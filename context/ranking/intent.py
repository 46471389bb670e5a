"""Intent terms: the words of a request with information about the needed tool."""

from collections.abc import Mapping
from dataclasses import dataclass

from context.ranking.asking import ASKING_WEIGHT, asking_terms
from context.ranking.parts import split_request
from context.words import content_terms

MAX_CHARS = 4_000
"""Most characters read of a request, from both ends: the middle of a long request is mostly pasted text."""
MAX_TERMS = 64


@dataclass(frozen=True)
class Intent:
    """The terms of a request.

    Attributes:
        text: The read part of the request.
        terms: Weight of each term, in (0, 1], in the order of first use.
    """

    text: str
    terms: Mapping[str, float]


def read_intent(text: str) -> Intent:
    """Read the terms of a request.

    Args:
        text: The request, of any length, in any language.

    Returns:
        At most `MAX_TERMS` terms, asking sentences first; empty without letters and digits.
    """
    half = MAX_CHARS // 2
    read = text if len(text) <= MAX_CHARS else f"{text[:half]}\n{text[-half:]}"
    asking = asking_terms()
    terms: dict[str, float] = {}
    for part, worth in split_request(read):
        for term in content_terms(part, limit=MAX_TERMS):
            if len(terms) < MAX_TERMS:
                terms.setdefault(term, worth * ASKING_WEIGHT if term in asking else worth)
    return Intent(read, terms)
