"""What has been counted so far: how often each feature of an intent led to each tool."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from context.ids import MAX_TOOL_NAME_CHARS
from context.priors.decay import date_weight
from context.priors.features import KIND_MASK, Kind, feature_keys
from context.priors.types import JoinedPlan

DEFAULT_HALF_LIFE_DAYS = 60.0
MAX_PAIRS = 300_000
"""The most pairs of feature and tool that are kept."""
SLACK = 3
"""So many times as many pairs are counted before they are pruned: that takes time."""
MAX_TOOLS = 30_000
MAX_TOOLS_OF_A_PLAN = 32
KEPT_DAYS = 90
"""For so many days back the weight of each is known; what is older is one sum."""

TOOL_BITS = 16
TOOL_MASK = (1 << TOOL_BITS) - 1
_LOWEST_OCTAVE = -(10**6)
_SAMPLE = 16
_SMOOTHING = 16.0


@dataclass
class State:
    """The counts of one history; it grows by `learn` and `merge`, and is bounded by `prune`.

    All weights are those of `date_weight` divided by `2 ** octave`. A pair's key is `feature << 16 | tool`.

    Attributes:
        half_life_days: Fixed for the life of the counts.
        octave: The half-life that weights are relative to: that of the newest plan.
        names: The tools, by their numbers.
        good: The weight of plans in which the tool did its work, by pair.
        bad: The weight of plans in which it failed, by pair.
        tool_good: The same by tool.
        tool_bad: The same by tool.
        days: The weight of all plans, by day; the oldest entry holds what came before.
        plans: How many plans were counted, without decay.
        roster: The entries that the catalog had when it was last looked at, by the day on which each was
            first seen; None for those that were there from the first day on.
    """

    half_life_days: float = DEFAULT_HALF_LIFE_DAYS
    octave: int = _LOWEST_OCTAVE
    names: list[str] = field(default_factory=list)
    good: dict[int, float] = field(default_factory=dict)
    bad: dict[int, float] = field(default_factory=dict)
    tool_good: list[float] = field(default_factory=list)
    tool_bad: list[float] = field(default_factory=list)
    days: dict[int, float] = field(default_factory=dict)
    plans: int = 0
    roster: dict[str, int | None] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int | None:
        """The number of a tool, a new one where it has none; None where there is room for no more."""
        found = self._numbers.get(name)
        if found is None and len(self.names) < MAX_TOOLS and 0 < len(name) <= MAX_TOOL_NAME_CHARS:
            found = self._numbers[name] = len(self.names)
            self.names.append(name)
            self.tool_good.append(0.0)
            self.tool_bad.append(0.0)
        return found

    @property
    def weight(self) -> float:
        """The decayed number of plans."""
        return sum(self.days.values())


def learn(state: State, plans: Iterable[JoinedPlan], *, max_pairs: int = MAX_PAIRS) -> None:
    """Count more plans; the time it takes grows with them, not with what was counted before.

    Args:
        state: What they are added to.
        plans: In any order.
        max_pairs: See `prune`.
    """
    for plan in plans:
        _count(state, plan)
        if len(state.good) + len(state.bad) > max_pairs * SLACK:
            prune(state, max_pairs)
    _fold_days(state)


def _count(state: State, plan: JoinedPlan) -> None:
    octave, mantissa = date_weight(plan.day, state.half_life_days)
    if octave > state.octave:
        _move(state, octave)
    weight = mantissa * 2.0 ** (octave - state.octave)
    if plan.counts:
        state.plans += 1
        state.days[plan.day] = state.days.get(plan.day, 0.0) + weight
    keys = [key << TOOL_BITS for key in feature_keys(plan.intent, plan.category)]
    for ok, pairs, totals in (
        (True, state.good, state.tool_good),
        (False, state.bad, state.tool_bad),
    ):
        for name in _distinct(plan, ok=ok):
            tool = state.number(name)
            if tool is None:
                continue
            totals[tool] += weight
            for key in keys:
                place = key | tool
                pairs[place] = pairs.get(place, 0.0) + weight


def _distinct(plan: JoinedPlan, *, ok: bool) -> Iterable[str]:
    """A tool counts once a plan for, and once against, however often it was called."""
    found = dict.fromkeys(step.tool for step in plan.tools if step.ok is ok)
    return list(found)[:MAX_TOOLS_OF_A_PLAN]


def _move(state: State, octave: int) -> None:
    """Look at all weights from a later half-life."""
    factor = 2.0 ** max(state.octave - octave, -1_000)
    if state.names or state.days:
        for weights in (state.good, state.bad, state.days):
            for key, weight in weights.items():
                weights[key] = weight * factor
        for totals in (state.tool_good, state.tool_bad):
            totals[:] = [total * factor for total in totals]
    state.octave = octave


def _fold_days(state: State) -> None:
    """Keep the newest days apart and sum up what came before them."""
    if not state.days:
        return
    oldest = max(state.days) - KEPT_DAYS
    before = [day for day in state.days if day < oldest]
    if before:
        state.days[oldest] = state.days.get(oldest, 0.0) + sum(state.days.pop(day) for day in sorted(before))


def merge(first: State, second: State, *, max_pairs: int = MAX_PAIRS) -> State:
    """Add up two histories; while nothing was pruned, exactly as if one had been counted after the other.

    Args:
        first: One.
        second: The other, of the same half-life.
        max_pairs: See `prune`.

    Returns:
        Their sum; both stay as they are.

    Raises:
        ValueError: Their half-lives differ.
    """
    if first.half_life_days != second.half_life_days:
        raise ValueError("histories with different half-lives cannot be added up")
    both = State(half_life_days=first.half_life_days, octave=max(first.octave, second.octave))
    for part in (first, second):
        _add(both, part)
    if len(both.good) + len(both.bad) > max_pairs * SLACK:
        prune(both, max_pairs)
    _fold_days(both)
    return both


def _add(both: State, part: State) -> None:
    factor = 2.0 ** max(part.octave - both.octave, -1_000)
    numbers = [both.number(name) for name in part.names]
    for pairs, more in ((both.good, part.good), (both.bad, part.bad)):
        for key, weight in more.items():
            tool = numbers[key & TOOL_MASK]
            if tool is not None:
                place = key & ~TOOL_MASK | tool
                pairs[place] = pairs.get(place, 0.0) + weight * factor
    for totals, more_totals in ((both.tool_good, part.tool_good), (both.tool_bad, part.tool_bad)):
        for tool, weight in zip(numbers, more_totals, strict=True):
            if tool is not None:
                totals[tool] += weight * factor
    for day, weight in part.days.items():
        both.days[day] = both.days.get(day, 0.0) + weight * factor
    both.plans += part.plans
    note_roster(both, part.roster)


def note_roster(state: State, first_seen: Mapping[str, int | None]) -> None:
    """Add entries with the days on which they were first seen; an earlier day stays."""
    for name, day in first_seen.items():
        known = state.roster.get(name, day)
        state.roster[name] = None if known is None or day is None else min(known, day)


def see_catalog(state: State, first_seen: Mapping[str, int]) -> None:
    """Look at the catalog: which entries are there, and which were added later than the others.

    Args:
        state: What remembers them; entries that are gone are forgotten.
        first_seen: The day since which each entry is known, in days since 1970.
    """
    first_day = min(first_seen.values(), default=0)
    state.roster = {name: None if day == first_day else day for name, day in first_seen.items()}


def prune(state: State, max_pairs: int = MAX_PAIRS) -> None:
    """Forget the pairs that say least, down to about so many.

    A pair counts by its weight over the root of its tool's: a tool that is seldom used keeps its words beside
    one that is used all day. Of equals, hashes decide, the same ones each time: what stays goes on growing.
    The wording of whole requests goes first: most were said once.
    """
    everything = len(state.good) + len(state.bad)
    if everything <= max_pairs:
        return
    scale = [
        1.0 / (good + bad + _SMOOTHING) ** 0.5
        for good, bad in zip(state.tool_good, state.tool_bad, strict=True)
    ]
    sample = [
        weight * scale[key & TOOL_MASK] * _SHARES[key >> TOOL_BITS & _SHARES_MASK]
        for pairs in (state.good, state.bad)
        for key, weight in islice(pairs.items(), 0, None, _SAMPLE)
    ]
    sample.sort()
    threshold = sample[int(len(sample) * (1 - max_pairs / everything))] if sample else 0.0
    for name in ("good", "bad"):
        kept = {
            key: weight
            for key, weight in getattr(state, name).items()
            if weight * scale[key & TOOL_MASK] * _SHARES[key >> TOOL_BITS & _SHARES_MASK] > threshold
        }
        setattr(state, name, kept)


_SHARES_MASK = 0xFFF
_SHARES = [
    (0.5 if feature & KIND_MASK == Kind.EXACT else 1.0) * (1.0 + feature * 1e-5)
    for feature in range(_SHARES_MASK + 1)
]
"""By the last bits of a feature: what its kind counts, and a little that sets equals apart."""
