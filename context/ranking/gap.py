"""Gap detection: too few words of the intent match any entry of the catalog."""

import heapq
import math
from collections.abc import Mapping, Sequence

from context.ranking.fields import Field
from context.ranking.index import RankingIndex
from context.ranking.intent import Intent
from context.ranking.scoring import find_impact, surface_words
from context.ranking.types import GapVerdict
from context.ranking.words import tool_terms
from context.text.language import UNKNOWN, detect_language

LEAST_FIT = 0.59
"""Least fit of the best entry; below, the entry has less than about a single word of the intent."""
FOREIGN_WEIGHT = 0.1
"""Weight of an unknown word of another language: maybe a function word, or halves of other words."""
WHOLE_INTENT = 1.0
"""Bonus for a fully explained intent, in words, so that an intent of a single word can fit."""
CANDIDATES = 2
MAX_UNEXPLAINED = 8
DETECT_CHARS = 300
LEAD = 0.8
"""Bonus for a clear first place, on the scale of the fit's logarithm."""
COMMON_WEIGHT = 0.3
"""Weight of numbers (inputs of a tool) and of verbs common to most tools, such as get, list and return."""
LEXICON_GAIN = 1.4

FIELD_STRENGTHS: Mapping[Field, float] = {
    Field.NAME: 1.0,
    Field.KEYWORDS: 1.0,
    Field.CONTENT: 1.0,
    Field.DESCRIPTION: 0.8,
    Field.USE: 0.8,
    Field.SUPERSEDES: 0.6,
    Field.PARAMETERS: 0.6,
    Field.PARAMETER_TEXT: 0.4,
    Field.STEPS: 0.4,
    Field.GROUP: 0.4,
}
"""Evidence of a word by field, for an entry serving the intent."""


def judge_gap(index: RankingIndex, intent: Intent, scores: Sequence[float]) -> GapVerdict:
    """Judge whether no entry in the catalog serves the intent.

    Args:
        index: The catalog's index.
        intent: The parsed intent.
        scores: Each entry's lexical score, in the catalog's order.

    Returns:
        The verdict; never a gap for an intent without terms.
    """
    if not intent.terms:
        return GapVerdict(is_gap=False, fit=0.0, explained=0.0)
    best = _find_best(scores)
    found = [_explained_terms(index, intent, place) for place in best if scores[place] > 0.0]
    lead = math.exp(-LEAD * _lead(scores, best))
    fit, explained = _judge_fit(_weigh_terms(index, intent, foreign=False), found, lead)
    if fit < LEAST_FIT and found and _is_foreign(intent.text[:DETECT_CHARS]):
        fit, explained = _judge_fit(_weigh_terms(index, intent, foreign=True), found, lead)
    is_gap = fit < LEAST_FIT
    return GapVerdict(is_gap, fit, explained, _name_unknown(index, intent) if is_gap else ())


def _find_best(scores: Sequence[float]) -> list[int]:
    """List the places of the best entries; ties in the catalog's order."""
    places: list[int] = []
    for score in heapq.nlargest(CANDIDATES, scores):
        places.append(scores.index(score, places[-1] + 1 if places and score == scores[places[-1]] else 0))
    return places


def _is_foreign(text: str) -> bool:
    language = detect_language(text)
    return language != "en" if language != UNKNOWN else not text.isascii()


def _judge_fit(
    asked: Mapping[str, float], found: Sequence[Mapping[str, float]], lead: float
) -> tuple[float, float]:
    """Compute the fit of the best entry, and its explained share of the intent."""
    words = max((sum(asked[term] * part for term, part in terms.items()) for terms in found), default=0.0)
    explained = min(1.0, words / sum(asked.values()))
    return 1.0 - lead / (1.0 + words + WHOLE_INTENT * explained), explained


def _lead(scores: Sequence[float], best: Sequence[int]) -> float:
    """Compute the first entry's lead over the second as a share of its score; 0 for a lone entry."""
    if len(best) < CANDIDATES or scores[best[0]] <= 0.0:
        return 0.0
    return 1.0 - scores[best[1]] / scores[best[0]]


def _weigh_terms(index: RankingIndex, intent: Intent, *, foreign: bool) -> dict[str, float]:
    """Weigh each term; in a foreign intent, unknown terms count little."""
    common = tool_terms()
    unknown = FOREIGN_WEIGHT if foreign else 1.0
    return {
        term: weight * COMMON_WEIGHT
        if term in common or term[0].isdigit()
        else weight * (1.0 if term in index.postings or term in index.lexicon else unknown)
        for term, weight in intent.terms.items()
    }


def _explained_terms(index: RankingIndex, intent: Intent, place: int) -> dict[str, float]:
    """How surely an entry speaks of each term of the intent, in [0, 1]."""
    asked = intent.terms.keys()
    explained = {}
    for term in asked:
        part = _strength(index, term, place)
        for expansion in index.lexicon.get(term, ()):
            if part < 1.0 and expansion.needs <= asked:
                for other, share in expansion.terms:
                    part = max(part, _strength(index, other, place) * min(1.0, share * LEXICON_GAIN))
        explained[term] = part
    return explained


def _strength(index: RankingIndex, term: str, place: int) -> float:
    postings = index.postings.get(term)
    mask = find_impact(postings, place)[1] if postings else 0
    return max((FIELD_STRENGTHS[field] for field in Field if mask & field), default=0.0) if mask else 0.0


def _name_unknown(index: RankingIndex, intent: Intent) -> tuple[str, ...]:
    """List the intent's words unknown to all entries, as written."""
    words = surface_words(intent.text)
    unknown = [term for term in intent.terms if term not in index.postings and term not in index.lexicon]
    return tuple(dict.fromkeys(words.get(term, term) for term in unknown))[:MAX_UNEXPLAINED]
