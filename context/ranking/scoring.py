"""Score an entry for an intent, and explain the score."""

import heapq
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from context.ranking.index import LABELS, NO_GROUP, Field, Postings, RankingIndex
from context.ranking.intent import TALK_WEIGHT, Intent, talk_terms
from context.ranking.lexicon import written_word
from context.text.terms import index_terms

COMPANY_SIZE = 5
"""Number of a group's best entries used for the group's mean."""
COMPANY_FLOOR = 0.3
"""Least share of the best score for a group's best entry, for the group to count."""
KNOWN_WORD_SHARE = 0.5
"""Weight of a synonym if the catalog has the word itself."""


def score_entries(index: RankingIndex, intent: Intent) -> list[float]:
    """Score every entry by the intent's words alone.

    Args:
        index: The catalog's index.
        intent: The parsed intent.

    Returns:
        A score for each entry, >= 0, in the catalog's order; 0 for an entry without a word of the intent.
    """
    scores = [0.0] * len(index.silent)
    for term, weight in widen_terms(index, intent).items():
        postings = index.postings.get(term)
        if postings is None:
            continue
        factor = weight * postings.rarity
        for place, impact in zip(postings.places, postings.impacts, strict=True):
            scores[place] += factor * impact
    _add_phrases(index, intent, scores)
    _add_company(index, scores)
    return scores


def _add_phrases(index: RankingIndex, intent: Intent, scores: list[float]) -> None:
    for term in intent.terms:
        for phrase in index.phrases.get(term, ()):
            if phrase.terms <= intent.terms.keys():
                rarity = sum(index.postings[part].rarity for part in phrase.terms)
                scores[phrase.place] += index.weights.phrase * rarity


def _add_company(index: RankingIndex, scores: list[float]) -> None:
    """Pull the entries of a well-matching group towards the mean of the group's best entries."""
    share = index.weights.company
    floor = COMPANY_FLOOR * max(scores, default=0.0)
    if not index.groups or floor <= 0.0:
        return
    leading = {index.group_of[place] for place, score in enumerate(scores) if score >= floor}
    for group in sorted(leading - {NO_GROUP}):
        places = index.groups[group]
        best = sorted([scores[place] for place in places], reverse=True)[:COMPANY_SIZE]
        pull = share * sum(best) / (len(best) - best.count(0.0))
        for place in places:
            if scores[place] > 0.0:
                scores[place] = (1.0 - share) * scores[place] + pull


def weigh_terms(index: RankingIndex, intent: Intent) -> dict[str, float]:
    """Weigh the terms of an intent for a catalog: words of talk count less outside of entry names."""
    talk = talk_terms()
    return {
        term: weight * TALK_WEIGHT if term in talk and not _names_an_entry(index, term) else weight
        for term, weight in intent.terms.items()
    }


def _names_an_entry(index: RankingIndex, term: str) -> bool:
    postings = index.postings.get(term)
    return postings is not None and postings.named


def widen_terms(index: RankingIndex, intent: Intent) -> dict[str, float]:
    """Add the lexicon's terms to an intent's terms.

    An added term never has more power to tell entries apart than its source term, and counts less if the
    catalog has the source term itself.

    Args:
        index: The catalog's index.
        intent: The parsed intent.

    Returns:
        Weight of each term: the intent's own unchanged, added terms less.
    """
    asked = weigh_terms(index, intent)
    widened = dict(asked)
    for term, weight in asked.items():
        expansions = index.lexicon.get(term, ())
        if not expansions:
            continue
        own = index.postings.get(term)
        for expansion in expansions:
            if expansion.needs <= asked.keys():
                for other, share in expansion.terms:
                    if other not in asked:
                        worth = weight * share * _worth(own, index.postings[other])
                        widened[other] = widened.get(other, 0.0) + worth
    return widened


def _worth(own: Postings | None, other: Postings) -> float:
    if own is None:
        return 1.0
    return KNOWN_WORD_SHARE * min(1.0, own.rarity / other.rarity)


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
