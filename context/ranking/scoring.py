"""Lexical scoring of a catalog's entries."""

from context.ranking.asking import TALK_WEIGHT, talk_terms
from context.ranking.index import NO_GROUP, Postings, RankingIndex
from context.ranking.intent import Intent

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
