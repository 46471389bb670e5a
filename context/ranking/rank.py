"""Rank the entries of a catalog for an intent, by words and by priors."""

from collections.abc import Mapping, Sequence

from context.priors.types import PRIOR_SCALE, TELLING, Priors
from context.ranking.gap import judge_gap
from context.ranking.index import RankingIndex
from context.ranking.intent import correct_intent, read_intent
from context.ranking.scoring import explain_entries, score_entries
from context.ranking.types import Ranked, RankedEntries, Ranking


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
