"""Score every entry of a catalog by an intent's words alone."""

from context.ranking.index import RankingIndex
from context.ranking.intent import Intent


def score_entries(index: RankingIndex, intent: Intent) -> list[float]:
    """Score every entry by the intent's words alone.

    Args:
        index: The catalog's index.
        intent: What was asked.

    Returns:
        A score for each entry, >= 0, in the catalog's order; 0 where no word of the intent is the entry's.
    """
    scores = [0.0] * len(index.silent)
    for term, weight in intent.terms.items():
        postings = index.postings.get(term)
        if postings is None:
            continue
        factor = weight * postings.rarity
        for place, impact in zip(postings.places, postings.impacts, strict=True):
            scores[place] += factor * impact
    _add_phrases(index, intent, scores)
    return scores


def _add_phrases(index: RankingIndex, intent: Intent, scores: list[float]) -> None:
    for term in intent.terms:
        for phrase in index.phrases.get(term, ()):
            if phrase.terms <= intent.terms.keys():
                rarity = sum(index.postings[part].rarity for part in phrase.terms)
                scores[phrase.place] += index.weights.phrase * rarity
