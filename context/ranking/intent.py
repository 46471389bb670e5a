# ruff: noqa: RUF001 - tables of words in several scripts
"""Read an intent for ranking: its parts, spelling and words."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from context.ranking.index import RankingIndex
from context.ranking.words import ASKING_WEIGHT, asking_terms
from context.text.sentences import split_sentences
from context.text.terms import content_terms

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


LONG_CHARS = 800
"""Longest short request in characters; in a short request every sentence counts as asking."""
PASTED_WEIGHT = 0.25
"""Weight of words in a sentence without a request."""

_ASKS = re.compile(
    r"""
    [?？؟]\W{0,4}$
    | \b(?:please|(?:can|could|would|will)\ you|i\ (?:want|need)|i(?:'?d|\ would)\ like|help\ me|let'?s)\b
    | ^\W*(?:(?:and|then|also|first|next|finally|now)\W+){0,2}
      (?:add|analy[sz]e|book|build|buy|calculate|call|check|compare|convert|copy|create|delete|deploy|describe
      |download|draft|draw|edit|email|explain|export|extract|fetch|find|fix|generate|get|give|go|help|illustrate|import|install
      |list|look|make|move|open|order|paint|pay|plan|play|post|prepare|publish|put|read|recommend|record|remember
      |remind|remove|render|rename|research|reserve|review|rewrite|run|save|schedule|search|send|set|show|start|stop
      |store|suggest|summari[sz]e|take|tell|test|track|translate|turn|update|upload|use|write)\b
    | 请|請|帮我|幫我|ください|下さい|お願い|주세요|해줘|пожалуйста|нужно|хочу|من\ فضلك|أريد
    | \b(?:por\ favor|quiero|necesito|bitte|ich\ möchte|s'il\ (?:te|vous)\ plaît|je\ veux
      |per\ favore|vorrei|preciso|quero)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def split_request(text: str) -> list[tuple[str, float]]:
    """Split a request into asking parts and pasted parts.

    Args:
        text: A request.

    Returns:
        The parts with weights in (0, 1], highest first; a short request is a single part. Without any asking
        sentence, the first and the last count as asking.
    """
    if len(text) <= LONG_CHARS:
        return [(text, 1.0)]
    sentences = split_sentences(text)
    asking = [_ASKS.search(sentence) is not None for sentence in sentences]
    if not any(asking):
        asking = [at in {0, len(sentences) - 1} for at in range(len(sentences))]
    parts = {
        weight: "\n".join(sentence for sentence, asks in zip(sentences, asking, strict=True) if asks is kind)
        for kind, weight in ((True, 1.0), (False, PASTED_WEIGHT))
    }
    return [(part, weight) for weight, part in parts.items() if part]
