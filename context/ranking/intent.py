"""The intent: the words of a request that say which tool it needs."""

from collections.abc import Mapping
from dataclasses import dataclass

from context.ranking.asking import ASKING_WEIGHT, asking_terms
from context.ranking.parts import split_request
from context.words import content_terms

MAX_CHARS = 4_000
"""What is longer is known by its beginning and its end: most of it is pasted, and asks for nothing."""
MAX_TERMS = 64


@dataclass(frozen=True)
class Intent:
    """The terms of a request.

    Attributes:
        text: What was read of it.
        terms: How much each term counts, in (0, 1], in the order of first use.
    """

    text: str
    terms: Mapping[str, float]


def read_intent(text: str) -> Intent:
    """Read the terms of a request.

    Args:
        text: The request, of any length, in any language.

    Returns:
        Its terms, at most `MAX_TERMS`, those of sentences that ask first; none without letters and digits.
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
