"""Explanation of a score: the entry's words found in the intent, by field."""

import heapq
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from context.ranking.fields import LABELS, Field
from context.ranking.index import Postings, RankingIndex
from context.ranking.intent import Intent
from context.ranking.lexicon import written_word
from context.ranking.scoring import widen_terms
from context.words import index_terms

MAX_REASONS = 5

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_STRONGEST_FIRST = tuple(Field)


def surface_words(text: str) -> dict[str, str]:
    """Map each term of a text to its first written form."""
    words: dict[str, str] = {}
    for match in _WORD.finditer(text):
        terms = index_terms(match[0])
        for term in terms:
            words.setdefault(term, match[0] if match[0].isascii() or len(terms) == 1 else term)
    return words


def explain_entries(
    index: RankingIndex, intent: Intent, places: Sequence[int], history: Mapping[int, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    """Explain the scores of entries.

    Args:
        index: The catalog's index.
        intent: The parsed intent.
        places: The entries' places in the catalog.
        history: Reasons from history, by place.

    Returns:
        Reasons by place, strongest first, such as "name: search" or "keyword 'draft a blog'": at most
        `MAX_REASONS` from words, then history's. Empty for entries without support.
    """
    words = surface_words(intent.text)
    widened = widen_terms(index, intent)
    sources = _word_sources(index, intent)
    found = {}
    for place in places:
        phrases = _phrase_reasons(index, intent, place)
        matches = _word_reasons(index, widened, place, words, sources)
        strongest = heapq.nlargest(MAX_REASONS, [*phrases, *matches])
        found[place] = (*(text for _, text in strongest), *history.get(place, ()))
    return found


def find_impact(postings: Postings, place: int) -> tuple[float, int]:
    """Look up an entry of a term: impact and fields; 0 and 0 if the entry lacks the term."""
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
    index: RankingIndex,
    widened: Mapping[str, float],
    place: int,
    words: Mapping[str, str],
    sources: Mapping[str, str],
) -> Iterator[tuple[float, str]]:
    for term, weight in widened.items():
        postings = index.postings.get(term)
        impact, mask = find_impact(postings, place) if postings else (0.0, 0)
        if postings and impact:
            label = LABELS[next(field for field in _STRONGEST_FIRST if mask & field)]
            source = sources.get(term)
            said = (
                f"{written_word(term)} (for {words.get(source, source)})" if source else words.get(term, term)
            )
            yield weight * postings.rarity * impact, f"{label}: {said}"


def _word_sources(index: RankingIndex, intent: Intent) -> dict[str, str]:
    """Map each expanded term to its source term in the intent."""
    return {
        other: term
        for term in intent.terms
        for expansion in index.lexicon.get(term, ())
        for other, _ in expansion.terms
        if other not in intent.terms and expansion.needs <= intent.terms.keys()
    }
