"""Scoring of an intent from history, in well under a millisecond and plain Python."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context.priors.prior_set import PriorSet
from context.priors.types import (
    KIND_MASK,
    NO_PRIORS,
    PRIOR_SCALE,
    FeatureKind,
    Priors,
    feature_keys,
    feature_names,
    name_hash,
)

KIND_WEIGHTS = {
    FeatureKind.WORD: 1.0,
    FeatureKind.PAIR: 0.5,
    FeatureKind.EXACT: 1.0,
    FeatureKind.CATEGORY: 0.5,
}
LEAST_DOUBT, MOST_DOUBT = 0.15, 1.0
"""Range of a word's weight against tools never seen with the word; higher for a less tried catalog."""
BASE_STRENGTH = 0.7
NOVEL_SHARE = 0.7
"""Share of the best support for an entry added later, scaled by its matching words."""
UNTRIED_POWER = 12
"""Exponent for untried entries: in a barely known catalog, missing history is weak evidence."""
_LEAST_NOVELTY = 0.05
POPULARITY = 0.3
"""Weight of a tool's popularity, for tools with other support only."""
RELIABLE_PLANS = 2.0
LEAST_RELIABILITY = 0.5
"""Least share of support kept by a failing tool."""
MOST_REASONS = 3
_LEAST_REASON = 0.3

_WEIGHT_OF_KIND = [KIND_WEIGHTS[FeatureKind(kind)] for kind in range(KIND_MASK + 1)]


@dataclass(frozen=True)
class BoundPriors:
    """A set of priors bound to a catalog, precomputed for any intent. Threads may share the object.

    Attributes:
        prior_set: The set.
        entries: The entry of each tool; None if removed from the catalog.
        doubt: Weight of a word against a tool never seen with the word, by tool.
        factor: Factor from a tool's sum to its support, by tool.
        popularity: Bonus for frequent choice, by tool.
        novelty: See `Priors`.
    """

    prior_set: PriorSet
    entries: Sequence[str | None]
    against: float
    doubt: Sequence[float]
    factor: Sequence[float]
    popularity: Sequence[float]
    novelty: Mapping[str, float]


def bind_priors(prior_set: PriorSet, entry_ids: Sequence[str]) -> BoundPriors:
    """Bind a set of priors to a catalog, once for each pair.

    Args:
        prior_set: The set.
        entry_ids: The catalog's entries.

    Returns:
        The input of `score_priors`.
    """
    there = set(entry_ids)
    entries = [name if name in there else None for name in prior_set.names]
    known = sum(
        good / (good + 1.0) for name, good in zip(entries, prior_set.good, strict=True) if name is not None
    )
    coverage = known / max(len(there), 1)
    against = min(MOST_DOUBT, max(LEAST_DOUBT, 1.0 - coverage))
    strength = (BASE_STRENGTH + coverage) / PRIOR_SCALE
    usual = prior_set.plans / max(len(prior_set.names), 1) or 1.0
    return BoundPriors(
        prior_set=prior_set,
        entries=entries,
        against=against,
        doubt=[against * math.log1p(good / 16.0) for good in prior_set.good],
        factor=[
            strength * _reliability(good, bad)
            for good, bad in zip(prior_set.good, prior_set.bad, strict=True)
        ],
        popularity=[POPULARITY * coverage * math.log1p(good / usual) for good in prior_set.good],
        novelty=_novelty(prior_set, entry_ids, coverage),
    )


def _reliability(good: float, bad: float) -> float:
    return max(LEAST_RELIABILITY, _success(good, bad))


def _success(good: float, bad: float) -> float:
    return (good + RELIABLE_PLANS) / (good + bad + RELIABLE_PLANS)


def _novelty(prior_set: PriorSet, entry_ids: Sequence[str], coverage: float) -> dict[str, float]:
    """Find novel entries: entries unknown to the set; none if the set has no roster.

    A tried and failed entry is known, and less novel with every failure.
    """
    known = dict(zip(prior_set.roster, prior_set.novelty, strict=True))
    records = zip(prior_set.names, prior_set.good, prior_set.bad, strict=True)
    tried = {name: _success(good, bad) for name, good, bad in records if good + bad > 0.0}
    untried = (1.0 - coverage) ** UNTRIED_POWER
    found = {}
    for entry_id in entry_ids:
        young = known.get(name_hash(entry_id), 255) / 255 if known else 0.0
        novelty = max(NOVEL_SHARE * young * tried.get(entry_id, 1.0), 0.0 if entry_id in tried else untried)
        if novelty >= _LEAST_NOVELTY:
            found[entry_id] = novelty
    return found


def score_priors(bound: BoundPriors, intent: str, *, category: str = "", explain: bool = False) -> Priors:
    """Score the entries for an intent from history.

    Args:
        bound: A set of priors on the catalog.
        intent: The user's request, of any length, in any language.
        category: The intent's category, empty if unknown.
        explain: Give reasons.

    Returns:
        The support of each entry favoured by history; empty if history has no data for the intent.
    """
    found = bound.prior_set
    if not found.names:
        return NO_PRIORS
    sums: dict[int, float] = {}
    known = 0.0
    for key in feature_keys(intent, category):
        place = _find(found.features, key)
        if place < 0:
            continue
        share = _WEIGHT_OF_KIND[key & KIND_MASK]
        known += share
        unit = share / found.steps
        start, end = found.starts[place], found.starts[place + 1]
        for tool, weight in zip(found.tools[start:end], found.weights[start:end], strict=True):
            said = weight * unit
            sums[tool] = (
                sums.get(tool, 0.0)
                + (said if said > 0.0 else said * bound.against)
                + bound.doubt[tool] * share
            )
    support = {}
    for tool, total in sums.items():
        left = total - bound.doubt[tool] * known
        entry = bound.entries[tool]
        if left > 0.0 and entry is not None:
            support[entry] = min(1.0, (left + bound.popularity[tool]) * bound.factor[tool])
    reasons = _reasons(bound, intent, category, support) if explain else {}
    return Priors(support, bound.novelty, reasons)


def _find(features: Sequence[int], key: int) -> int:
    place = bisect_left(features, key)
    return place if place < len(features) and features[place] == key else -1


def _reasons(
    bound: BoundPriors, intent: str, category: str, support: Mapping[str, float]
) -> dict[str, tuple[str, ...]]:
    """List the reasons for each entry with its record; only the record for failed entries."""
    found = bound.prior_set
    said: dict[int, list[tuple[float, str]]] = {}
    for key, name in feature_names(intent, category).items():
        place = _find(found.features, key)
        if place < 0:
            continue
        unit = _WEIGHT_OF_KIND[key & KIND_MASK] / found.steps
        for pair in range(found.starts[place], found.starts[place + 1]):
            weight = found.weights[pair] * unit
            if weight >= _LEAST_REASON:
                said.setdefault(found.tools[pair], []).append((weight, name))
    reasons: dict[str, tuple[str, ...]] = {
        str(entry): (_record(good, bad),)
        for entry, good, bad in zip(bound.entries, found.good, found.bad, strict=True)
        if entry is not None and entry not in support and round(bad)
    }
    for tool, words in said.items():
        entry = bound.entries[tool]
        if entry in support:
            strongest = sorted(words, key=lambda one: (-one[0], one[1]))[:MOST_REASONS]
            spoke = [f"chosen before for {name}" for _, name in strongest]
            reasons[str(entry)] = (*spoke, _record(found.good[tool], found.bad[tool]))
    return reasons


def _record(good: float, bad: float) -> str:
    failed = f", failed in about {bad:.0f}" if round(bad) else ""
    return f"did its work in about {good:.0f} recent plans{failed}"
