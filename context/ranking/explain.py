"""Explain a score: which words of the intent an entry has, and where."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping

from context.ranking.fields import LABELS, Field
from context.ranking.index import Postings, RankingIndex
from context.ranking.intent import Intent
from context.words import index_terms

MAX_REASONS = 5

_WORD = re.compile(r"\w[\w'\u2019-]*")
_STRONGEST_FIRST = tuple(Field)


def surface_words(text: str) -> dict[str, str]:
    """Map each term of a text to the word as it was first written."""
    words: dict[str, str] = {}
    for match in _WORD.finditer(text):
        for term in index_terms(match[0]):
            words.setdefault(term, term if term in match[0] else match[0])
    return words


def explain_entry(
    index: RankingIndex, intent: Intent, place: int, *, words: Mapping[str, str], prior: float = 0.0
) -> tuple[str, ...]:
    """Say why an entry has its score.

    Args:
        index: The catalog's index.
        intent: What was asked.
        place: The entry's place in the catalog.
        words: The intent's words by term, from `surface_words`.
        prior: What history says of the entry, in [0, 1].

    Returns:
        At most `MAX_REASONS` reasons, strongest first, such as "name: search" or "keyword 'draft a blog'".
    """
    reasons = [*_phrase_reasons(index, intent, place), *_word_reasons(index, intent, place, words)]
    reasons.sort(key=lambda reason: -reason[0])
    said = [text for _, text in reasons[:MAX_REASONS]]
    return (*said, f"history: {prior:.2f}") if prior > 0.0 else tuple(said)


def find_impact(postings: Postings, place: int) -> tuple[float, int]:
    """Look up one entry of a term: its impact and its fields; 0 and 0 where it does not have the term."""
    at = bisect_left(postings.places, place)
    if at < len(postings.places) and postings.places[at] == place:
        return postings.impacts[at], postings.fields[at]
    return 0.0, 0


def _phrase_reasons(index: RankingIndex, intent: Intent, place: int) -> Iterator[tuple[float, str]]:
    for term in intent.terms:
        for phrase in index.phrases.get(term, ()):
            if phrase.place == place and phrase.terms <= intent.terms.keys():
                yield sum(index.postings[part].rarity for part in phrase.terms), f"keyword '{phrase.text}'"


def _word_reasons(
    index: RankingIndex, intent: Intent, place: int, words: Mapping[str, str]
) -> Iterator[tuple[float, str]]:
    for term, weight in intent.terms.items():
        postings = index.postings.get(term)
        if postings is None:
            continue
        impact, mask = find_impact(postings, place)
        if impact:
            field = next(field for field in _STRONGEST_FIRST if mask & field)
            yield weight * postings.rarity * impact, f"{LABELS[field]}: {words.get(term, term)}"
