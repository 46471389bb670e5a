"""Rank the entries of a catalog for an intent, by words and by priors; detect gaps and removed tools."""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from context.catalog.types import Catalog, Entry
from context.priors.types import PRIOR_SCALE, TELLING, Priors
from context.ranking.index import Field, RankingIndex, build_index, facts_of
from context.ranking.intent import Intent, correct_intent, read_intent, tool_terms
from context.ranking.scoring import explain_entries, find_impact, score_entries, surface_words
from context.ranking.types import EntryFacts, GapVerdict, Ranked, RankedEntries, Ranking
from context.text.language import UNKNOWN, detect_language

LEAST_FIT = 0.57
"""Least fit of the best entry; below, the entry has less than about a single word of the intent."""
FOREIGN_WEIGHT = 0.1
"""Weight of an unknown word of another language: maybe a function word, or halves of other words."""
LEAST_FIT_OF_FEW, FEW = 0.64, 12
"""Least fit in a catalog of at most so many entries, where it is more likely that none serves the intent."""
WHOLE_INTENT = 1.0
"""Bonus for a fully explained intent, in words, so that an intent of a single word can fit."""
CANDIDATES = 2
MAX_UNEXPLAINED = 8
DETECT_CHARS = 300
LEAD = 0.4
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


def find_least_fit(entries: int) -> float:
    """Find the least fit of the best entry in a catalog of so many entries."""
    return LEAST_FIT_OF_FEW if entries <= FEW else LEAST_FIT


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
        return GapVerdict(is_gap=False, fit=0.0)
    best = _find_best(scores)
    found = [_explained_terms(index, intent, place) for place in best if scores[place] > 0.0]
    lead = math.exp(-LEAD * _lead(scores, best))
    fit = _judge_fit(_weigh_terms(index, intent, foreign=False), found, lead)
    least = find_least_fit(len(index.silent))
    if fit < least and found and _is_foreign(intent.text[:DETECT_CHARS]):
        fit = _judge_fit(_weigh_terms(index, intent, foreign=True), found, lead)
    is_gap = fit < least
    return GapVerdict(is_gap, fit, _name_unknown(index, intent) if is_gap else ())


def _find_best(scores: Sequence[float]) -> list[int]:
    """List the places of the best entries; ties in the catalog's order."""
    places: list[int] = []
    for score in heapq.nlargest(CANDIDATES, scores):
        places.append(scores.index(score, places[-1] + 1 if places and score == scores[places[-1]] else 0))
    return places


def _is_foreign(text: str) -> bool:
    language = detect_language(text)
    return language != "en" if language != UNKNOWN else not text.isascii()


def _judge_fit(asked: Mapping[str, float], found: Sequence[Mapping[str, float]], lead: float) -> float:
    """Compute the fit of the best entry."""
    words = max((sum(asked[term] * part for term, part in terms.items()) for terms in found), default=0.0)
    explained = min(1.0, words / sum(asked.values()))
    return 1.0 - lead / (1.0 + words + WHOLE_INTENT * explained)


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


def combine_scores(
    lexical: Sequence[float], priors: Mapping[int, float], novelty: Mapping[int, float]
) -> list[float]:
    """Combine the lexical scores of entries with their priors.

    Without priors the scores are the lexical scores. If history supports some entries, entries too new for
    history are raised too, in proportion to their matching words, so that new entries are not pushed out.

    Args:
        lexical: Lexical score of each entry, >= 0.
        priors: History scores by place, each in [0, 1], already shrunk for missing evidence.
        novelty: Share of the best prior for a new entry, by place, each in (0, 1].

    Returns:
        The final scores, each at least its lexical score.
    """
    scores = list(lexical)
    if not priors:
        return scores
    for place, prior in priors.items():
        scores[place] += PRIOR_SCALE * prior
    best = max(lexical, default=0.0)
    if best > 0.0:
        rise = PRIOR_SCALE * max(priors.values()) / best
        for place, share in novelty.items():
            scores[place] = max(scores[place], lexical[place] * (1.0 + share * rise))
    return scores


UNSURE_MARGIN = 0.4
"""Least lead of the first entry over the second, as a share of its score, for a sure choice."""
UNSURE_ENTRIES = 3


def rank(
    index: RankingIndex,
    intent: str,
    *,
    priors: Mapping[str, float] | None = None,
    explain: bool = False,
    limit: int | None = None,
) -> Ranking:
    """Rank all entries of a catalog for an intent.

    Args:
        index: The catalog's index.
        intent: The user's request, in any language, of any length.
        priors: History scores of entries, by id, each in [0, 1]; unknown ids are ignored.
        explain: Give each entry's reasons.
        limit: The most entries, >= 0; None for all.

    Returns:
        The entries, best first, unsupported entries last; ties in the catalog's order.
    """
    read = correct_intent(index, read_intent(intent))
    lexical = score_entries(index, read)
    known = _known_priors(index, priors)
    scores = combine_scores(lexical, known, _known_novelty(index, priors))
    places = _order_places(scores)[:limit]
    entries = RankedEntries(
        silent=index.silent,
        places=places,
        scores=scores,
        lexical=lexical,
        priors=known,
        reasons=explain_entries(index, read, places, _known_reasons(index, priors)) if explain else {},
    )
    return Ranking(entries=entries, gap=judge_gap(index, read, lexical))


def serves_nothing(ranking: Ranking) -> bool:
    """Tell whether neither words nor history support the first entry of a ranking.

    Args:
        ranking: A ranking with at least its first entry, if the catalog has any.
    """
    entries = ranking.entries
    return ranking.gap.is_gap and not (len(entries) > 0 and entries[0].prior >= TELLING)


def is_unsure(entries: Sequence[Ranked]) -> bool:
    """Tell whether the first entry's lead is too small to rely on.

    Args:
        entries: A ranking's entries, best first.

    Returns:
        True for at least three entries with a lead of the first below `UNSURE_MARGIN`.
    """
    if len(entries) < UNSURE_ENTRIES:
        return False
    first, second = entries[0].score, entries[1].score
    return first <= 0.0 or (first - second) / first < UNSURE_MARGIN


def _known_priors(index: RankingIndex, priors: Mapping[str, float] | None) -> dict[int, float]:
    known = ((index.place_of.get(entry_id), prior) for entry_id, prior in (priors or {}).items())
    return {place: min(prior, 1.0) for place, prior in known if place is not None and prior > 0.0}


def _known_novelty(index: RankingIndex, priors: Mapping[str, float] | None) -> dict[int, float]:
    """Return the novelty by place; empty for plain numbers as priors."""
    if not isinstance(priors, Priors):
        return {}
    known = ((index.place_of.get(entry_id), share) for entry_id, share in priors.novelty.items())
    return {place: share for place, share in known if place is not None}


def _known_reasons(index: RankingIndex, priors: Mapping[str, float] | None) -> dict[int, tuple[str, ...]]:
    """Return history's reasons by place: own reasons if given, else the score."""
    own = priors.reasons if isinstance(priors, Priors) else {}
    said = {index.place_of[entry_id]: why for entry_id, why in own.items() if entry_id in index.place_of}
    return {
        **said,
        **{
            place: said.get(place) or (f"history: {prior:.2f}",)
            for place, prior in _known_priors(index, priors).items()
        },
    }


def _order_places(scores: Sequence[float]) -> list[int]:
    """Best first; a sort keeps equals in the catalog's order."""
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)


LOOKED_AT = 2
"""Ranked entries searched for a removed tool; behind two others, the tool is not missed."""


@dataclass(frozen=True)
class FormerTools:
    """Removed entries of a catalog, together with the present ones.

    Attributes:
        index: Index of the present and the removed entries together.
        added: The removed entries, behind the present ones in the index; at least one.
    """

    index: RankingIndex
    added: tuple[EntryFacts, ...]

    @cached_property
    def gone(self) -> frozenset[str]:
        """Ids of the removed entries."""
        return frozenset(entry.entry_id for entry in self.added)


def build_former(catalog: Catalog, former: Sequence[Entry]) -> FormerTools | None:
    """Index a catalog together with its removed entries.

    Args:
        catalog: The present version.
        former: Entries of earlier versions; the first entry of an id counts, present ids are ignored.

    Returns:
        The index; None if no entry was removed, apart from renamed entries.
    """
    by_id: dict[str, Entry] = {}
    for entry in former:
        if entry.entry_id not in catalog.places:
            by_id.setdefault(entry.entry_id, entry)
    said = {_told(entry) for entry in catalog.entries} if by_id else set()
    gone = [entry for entry in by_id.values() if not entry.description or _told(entry) not in said]
    if not gone:
        return None
    both = Catalog((*catalog.entries, *gone))
    return FormerTools(build_index(both), tuple(map(facts_of, gone)))


def find_former(former: FormerTools, intent: str, *, priors: Mapping[str, float] | None = None) -> str | None:
    """Find the removed entry asked for by an intent.

    Args:
        former: The removed entries with the present ones.
        intent: The user's request.
        priors: History scores of entries, by id, each in [0, 1].

    Returns:
        The id of a removed entry in first place, or in second place behind a present entry; None if the
        present entries serve the intent as well.
    """
    first = rank(former.index, intent, priors=priors, limit=LOOKED_AT).entries
    return next((each.entry_id for each in first if each.entry_id in former.gone and each.score > 0), None)


def _told(entry: Entry) -> str:
    """Normalize a description, to recognize a renamed entry."""
    return " ".join(entry.description.casefold().split())


LEAST = 16
"""Least number of entries kept."""
FIRST = 32
"""Number of entries kept of a list without any entry for a task of one kind."""
SHARE = 0.2
"""Least score of a kept entry, as a share of the best score."""


def count_near(ranking: Ranking) -> int | None:
    """Count the first entries that the words of a request point at.

    Args:
        ranking: The ranking of all entries.

    Returns:
        The number, at least `LEAST`; None where nothing serves the request.
    """
    entries = ranking.entries
    if not entries or serves_nothing(ranking) or entries[0].score <= 0:
        return None
    least = entries[0].score * SHARE
    return max(LEAST, next((at for at, entry in enumerate(entries) if entry.score < least), len(entries)))
