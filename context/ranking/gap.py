"""Tell whether nothing in a catalog serves an intent."""

from collections.abc import Sequence

from context.ranking.explain import find_impact, surface_words
from context.ranking.index import RankingIndex
from context.ranking.intent import Intent
from context.ranking.types import GapVerdict

LEAST_FIT = 0.25
MAX_UNEXPLAINED = 8


def judge_gap(index: RankingIndex, intent: Intent, scores: Sequence[float]) -> GapVerdict:
    """Judge whether nothing in the catalog serves the intent.

    Args:
        index: The catalog's index.
        intent: What was asked.
        scores: Each entry's lexical score, in the catalog's order.

    Returns:
        The verdict; no gap where nothing was asked that could be told.
    """
    if not intent.terms:
        return GapVerdict(is_gap=False, fit=0.0, explained=0.0)
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    if best is None:
        return GapVerdict(is_gap=True, fit=0.0, explained=0.0)
    known = [
        term for term in intent.terms if term in index.postings and find_impact(index.postings[term], best)[1]
    ]
    explained = len(known) / len(intent.terms)
    unknown = [term for term in intent.terms if term not in index.postings][:MAX_UNEXPLAINED]
    words = surface_words(intent.text) if unknown else {}
    unexplained = tuple(dict.fromkeys(words.get(term, term) for term in unknown))
    return GapVerdict(explained < LEAST_FIT, explained, explained, unexplained)
