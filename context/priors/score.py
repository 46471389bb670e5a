"""What history says of an intent: the read side, in well under a millisecond and plain Python."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context.priors.features import KIND_MASK, Kind, feature_keys, feature_names, name_hash
from context.priors.prior_set import PriorSet
from context.priors.types import NO_PRIORS, Priors
from context.ranking.combine import PRIOR_SCALE

KIND_WEIGHTS = {Kind.WORD: 1.0, Kind.PAIR: 0.5, Kind.EXACT: 1.0, Kind.CATEGORY: 0.5}
LEAST_DOUBT, MOST_DOUBT = 0.15, 1.0
"""How much a word counts against the tools that never had it: more, the less of the catalog was tried."""
BASE_STRENGTH = 0.7
NOVEL_SHARE = 0.7
"""What an entry that was added since gets of the best support, as far as its words fit."""
UNTRIED_POWER = 12
"""Where history knows little of a catalog, its silence says little of entries that it never saw."""
_LEAST_NOVELTY = 0.05
POPULARITY = 0.3
"""What being chosen often says, where an intent says something for a tool anyway."""
RELIABLE_PLANS = 2.0
LEAST_RELIABILITY = 0.5
"""A tool that failed keeps at least this share of what speaks for it."""
MOST_REASONS = 3
_LEAST_REASON = 0.3

_WEIGHT_OF_KIND = [KIND_WEIGHTS[Kind(kind)] for kind in range(KIND_MASK + 1)]


@dataclass(frozen=True)
class BoundPriors:
    """A set of priors on a catalog: what can be computed before any intent is known. Threads may share it.

    Attributes:
        prior_set: The set.
        entries: The entry of each tool; None where the catalog has it no more.
        coverage: The share of the catalog that history knows, in [0, 1].
        doubt: How much a word counts against tools that never had it, by tool.
        factor: What a tool's sum is multiplied by, by tool, to give its support.
        popularity: What is added for being chosen often, by tool.
        novelty: See `Priors`.
    """

    prior_set: PriorSet
    entries: Sequence[str | None]
    coverage: float
    against: float
    doubt: Sequence[float]
    factor: Sequence[float]
    popularity: Sequence[float]
    novelty: Mapping[str, float]


def bind_priors(prior_set: PriorSet, entry_ids: Sequence[str]) -> BoundPriors:
    """Bind a set of priors to a catalog; done once for each pair of them.

    Args:
        prior_set: The set.
        entry_ids: The catalog's entries.

    Returns:
        What `score_priors` needs.
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
        coverage=coverage,
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
    """An entry that the set never saw is novel; without a look at the catalog none is known to be.

    One that was tried and failed is known, and the less novel the more often it failed.
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
    """Say what history says of an intent.

    Args:
        bound: A set of priors on the catalog.
        intent: What the user wants, of any length, in any language.
        category: The intent's category, empty where nobody said.
        explain: Give reasons.

    Returns:
        The support of each entry that history speaks for; none where it knows nothing of the intent.
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
    """Name what spoke for each entry, and what its record is; of those that failed, the record alone."""
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
