"""Set of priors: weights of tools from a history, computed once, in a compact blob."""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeGuard

from context.priors.state import TOOL_BITS, TOOL_MASK, State, date_weight
from context.priors.types import KEY_BITS, CorruptPriorsError, name_hash, pack, unpack

MAGIC, VERSION = b"APPS", 1
_TYPE_CODES = "QIHhffIB"

SMOOTHING = 16.0
"""Plans of a tool needed before the tool's own words outweigh the words common to all tools."""
FEW_TOOLS = 4.0
"""Number of tools below which a word of a single tool may be common to all tools."""
RARE = 0.3
"""Assumed number of plans with a word seen in no plan."""
LEAST_PLANS = 20.0
FAILURE_SHARE = 0.5
"""Share of a success cancelled by a failure."""
NOVEL_PLANS = 30.0
"""Plans without an entry until the entry counts half as novel."""

_STEPS = 256
"""Resolution of a weight: parts of a unit."""
_MOST_TOOLS_OF_A_FEATURE = 64
_LEAST_WEIGHT = 0.25


@dataclass(frozen=True)
class PriorSet:
    """The weights of features for tools; immutable.

    Attributes:
        names: The tools, by number.
        plans: Decayed number of plans, the newest day counting 1 a plan.
        day: The newest plan's day, in days since 1970; 0 without plans.
        features: Keys, ascending.
        starts: Start of each feature's pairs, with the number of pairs at the end.
        tools: The tool of each pair.
        weights: Weight of each pair, in 256ths of the natural logarithm of the likelihood ratio: the feature
            with the tool against the feature without the tool.
        good: Decayed number of successful plans of each tool.
        bad: Decayed number of failed plans of each tool.
        roster: Hashes of the catalog's entries, ascending; empty without a look at the catalog.
        novelty: Novelty of each roster entry, in 255ths.
    """

    names: tuple[str, ...] = ()
    plans: float = 0.0
    day: int = 0
    features: Sequence[int] = ()
    starts: Sequence[int] = (0,)
    tools: Sequence[int] = ()
    weights: Sequence[int] = ()
    good: Sequence[float] = ()
    bad: Sequence[float] = ()
    roster: Sequence[int] = ()
    novelty: Sequence[int] = ()

    @property
    def steps(self) -> int:
        """How fine a unit of a weight is divided."""
        return _STEPS

    def to_bytes(self) -> bytes:
        """Pack the set; equal sets give equal bytes."""
        header = {"names": self.names, "plans": self.plans, "day": self.day}
        columns = (
            self.features,
            self.starts,
            self.tools,
            self.weights,
            self.good,
            self.bad,
            self.roster,
            self.novelty,
        )
        arrays = [array(code, column) for code, column in zip(_TYPE_CODES, columns, strict=True)]
        return pack(MAGIC, VERSION, header, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> "PriorSet":
        """Unpack a set.

        Raises:
            CorruptPriorsError: The bytes are not a set, or its parts do not fit together.
        """
        header, arrays = unpack(data, MAGIC, VERSION, _TYPE_CODES)
        names, plans, day = header.get("names"), header.get("plans"), header.get("day")
        if not _are_names(names) or not isinstance(plans, int | float) or not isinstance(day, int):
            raise CorruptPriorsError("the header is not that of a set of priors")
        found = cls(tuple(names), float(plans), day, *arrays)
        if not _fits(found):
            raise CorruptPriorsError("the parts of the set do not fit together")
        return found


def _are_names(names: Any) -> TypeGuard[list[str]]:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _fits(found: PriorSet) -> bool:
    """Check all indexes and lengths: a damaged set must not crash a request."""
    lengths = (
        len(found.starts) == len(found.features) + 1
        and found.starts[0] == 0
        and found.starts[-1] == len(found.tools) == len(found.weights)
        and len(found.good) == len(found.bad) == len(found.names)
        and len(found.roster) == len(found.novelty)
    )
    return (
        lengths
        and _rises(found.features, most=1 << KEY_BITS)
        and list(found.starts) == sorted(found.starts)
        and max(found.tools, default=-1) < len(found.names)
        and all(math.isfinite(value) and value >= 0 for value in (found.plans, *found.good, *found.bad))
        and list(found.roster) == sorted(found.roster)
    )


def _rises(numbers: Sequence[int], *, most: int) -> bool:
    ordered = list(numbers)
    return ordered == sorted(set(ordered)) and (not ordered or ordered[-1] < most)


def make_prior_set(state: State) -> PriorSet:
    """Compute the weights from the counts.

    A feature's weight for a tool grows with its frequency in the tool's intents relative to all tools'
    intents. Every tool counts equally, so a heavily used tool does not own every word. With few plans of a
    tool, or few tools, the weight shrinks towards zero.

    Args:
        state: The counts; not modified.

    Returns:
        The set.
    """
    if not state.days:
        return PriorSet(**_roster(state, 1.0))
    day = max(state.days)
    octave, mantissa = date_weight(day, state.half_life_days)
    unit = 1.0 / (mantissa * 2.0 ** (octave - state.octave))
    counts = _Counts(state, unit)
    features, starts, tools, weights = array("Q"), array("I", [0]), array("H"), array("h")
    for feature, pairs in counts.by_feature():
        said = counts.weigh(pairs)
        if said:
            features.append(feature)
            tools.extend(tool for tool, _ in said)
            weights.extend(weight for _, weight in said)
            starts.append(len(tools))
    return PriorSet(
        names=tuple(state.names),
        plans=counts.plans,
        day=day,
        features=features,
        starts=starts,
        tools=tools,
        weights=weights,
        good=array("f", counts.good),
        bad=array("f", (weight * unit for weight in state.tool_bad)),
        **_roster(state, unit),
    )


class _Counts:
    """Counts in plans of the newest day, with shared constants."""

    def __init__(self, state: State, unit: float) -> None:
        self.state, self.unit = state, unit
        self.plans = state.weight * unit
        self.good = [weight * unit for weight in state.tool_good]
        self.seen = sum(good / (good + 1.0) for good in self.good)
        self.rare = RARE / max(LEAST_PLANS, self.plans)
        self.few = FEW_TOOLS**2 / (self.seen**2 + FEW_TOOLS**2)

    def by_feature(self) -> Iterator[tuple[int, list[tuple[int, float]]]]:
        """Yield each feature, ascending, with the weight of each related tool."""
        good, bad = self.state.good, self.state.bad
        for feature, keys in groupby(sorted(good), key=_feature_of):
            pairs = [
                (key & TOOL_MASK, (good[key] - FAILURE_SHARE * bad.get(key, 0.0)) * self.unit) for key in keys
            ]
            left = [pair for pair in pairs if pair[1] > 0.0]
            if left:
                yield feature, left

    def weigh(self, pairs: list[tuple[int, float]]) -> list[tuple[int, int]]:
        """Weigh a feature for its tools; empty if all weights are too small."""
        common = self._common(pairs)
        said = [
            (tool, math.log((count + SMOOTHING * common) / ((self.good[tool] + SMOOTHING) * common)))
            for tool, count in pairs
        ]
        if max(weight for _, weight in said) < _LEAST_WEIGHT:
            return []
        if len(said) > _MOST_TOOLS_OF_A_FEATURE:
            strongest = sorted(said, key=lambda one: (-one[1], one[0]))[:_MOST_TOOLS_OF_A_FEATURE]
            said = sorted(strongest)
        return [(tool, max(-32_767, min(32_767, round(weight * _STEPS)))) for tool, weight in said]

    def _common(self, pairs: list[tuple[int, float]]) -> float:
        """Estimate the feature's share of plans over all tools."""
        mean = sum(count / (self.good[tool] + 1.0) for tool, count in pairs) / self.seen
        most = max(count / (self.good[tool] + 2.0) for tool, count in pairs)
        return max(mean * (1.0 - self.few) + most * self.few, self.rare)


def _feature_of(key: int) -> int:
    return key >> TOOL_BITS


def _roster(state: State, unit: float) -> Mapping[str, Any]:
    novelty: dict[int, int] = {}
    for name, first_seen in state.roster.items():
        known = novelty.get(name_hash(name), 255)
        novelty[name_hash(name)] = min(known, round(255 * _novelty(state, first_seen, unit)))
    ordered = sorted(novelty)
    return {"roster": array("I", ordered), "novelty": array("B", (novelty[one] for one in ordered))}


def _novelty(state: State, first_seen: int | None, unit: float) -> float:
    """Compute an entry's novelty: 1 if no plan was made since the entry appeared."""
    if first_seen is None:
        return 0.0
    since = sum(weight for day, weight in state.days.items() if day >= first_seen) * unit
    return NOVEL_PLANS / (NOVEL_PLANS + since)
