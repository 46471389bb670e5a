"""The state of priors: counts that decay, and their stored bytes."""

import math
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from context.priors.types import (
    KEY_BITS,
    KIND_MASK,
    CorruptPriorsError,
    FeatureKind,
    JoinedPlan,
    feature_keys,
    pack,
    unpack,
)
from context.text.sanitize import MAX_TOOL_NAME_CHARS

STEPS = 256
"""Steps of a weight within its half-life; sums of millions of weights are exact in a float."""


class Dated(NamedTuple):
    """The weight of a day: `mantissa * 2 ** octave`.

    Attributes:
        octave: The day's half-life, counted from 1970.
        mantissa: The weight within the half-life, in [1, 2), a multiple of 1/256.
    """

    octave: int
    mantissa: float


@lru_cache(maxsize=4_096)
def date_weight(day: int, half_life_days: float) -> Dated:
    """Weigh a day against a fixed point in time.

    The ratio of two days' weights is the ratio given by decay, at any later time. Decay to a later time
    divides both weights by the same power of two, without changing a digit of a sum. The order of counting
    plans or merging parts of a history makes no difference.

    Args:
        day: In days since 1970.
        half_life_days: Days until a weight is halved, > 0.

    Returns:
        The weight, rounded to less than 0.2 %.
    """
    half_lives = day / half_life_days
    octave = int(half_lives // 1)
    mantissa = round(2 ** (half_lives - octave) * STEPS) / STEPS
    return Dated(octave, mantissa)


DEFAULT_HALF_LIFE_DAYS = 60.0
MAX_PAIRS = 300_000
"""Most kept pairs of feature and tool."""
SLACK = 3
"""Factor over the limit of pairs before pruning; pruning takes time."""
MAX_TOOLS = 30_000
MAX_TOOLS_OF_A_PLAN = 32
KEPT_DAYS = 90
"""Days with separate weights; older days are a single sum."""

TOOL_BITS = 16
TOOL_MASK = (1 << TOOL_BITS) - 1
_LOWEST_OCTAVE = -(10**6)
_SAMPLE = 16
_SMOOTHING = 16.0


@dataclass
class State:
    """The counts of a history: grown by `learn` and `merge`, bounded by `prune`.

    All weights are `date_weight` values divided by `2 ** octave`. A pair's key is `feature << 16 | tool`.

    Attributes:
        half_life_days: Half-life in days, fixed for the life of the counts.
        octave: Half-life of the newest plan, the base of all weights.
        names: The tools, by number.
        good: Weight of successful plans, by pair.
        bad: Weight of failed plans, by pair.
        tool_good: Weight of successful plans, by tool.
        tool_bad: Weight of failed plans, by tool.
        days: Weight of all plans, by day; the oldest entry includes all earlier days.
        plans: Number of counted plans, without decay.
        roster: The catalog's entries at the last look, with the day of the first sighting; None for entries
            present from the first day.
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
        """Return the number of a tool, new if needed; None if the table is full."""
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
    """Count more plans; the run time grows with the new plans only.

    Args:
        state: The counts to update.
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
    """List a plan's distinct tools with the given outcome; each tool counts once for and once against."""
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
    """Keep the newest days apart and sum up all earlier days."""
    if not state.days:
        return
    oldest = max(state.days) - KEPT_DAYS
    before = [day for day in state.days if day < oldest]
    if before:
        state.days[oldest] = state.days.get(oldest, 0.0) + sum(state.days.pop(day) for day in sorted(before))


def merge(first: State, second: State, *, max_pairs: int = MAX_PAIRS) -> State:
    """Add two histories; without pruning, exactly equal to counting all plans in sequence.

    Args:
        first: A history.
        second: Another history, of the same half-life.
        max_pairs: See `prune`.

    Returns:
        The sum; both arguments stay unchanged.

    Raises:
        ValueError: The half-lives differ.
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
    """Add entries with the days of their first sighting; an earlier day stays."""
    for name, day in first_seen.items():
        known = state.roster.get(name, day)
        state.roster[name] = None if known is None or day is None else min(known, day)


def see_catalog(state: State, first_seen: Mapping[str, int]) -> None:
    """Record the catalog's present entries, with the days of entries added later.

    Args:
        state: The counts to update; removed entries are forgotten.
        first_seen: First day of each entry, in days since 1970.
    """
    first_day = min(first_seen.values(), default=0)
    state.roster = {name: None if day == first_day else day for name, day in first_seen.items()}


def prune(state: State, max_pairs: int = MAX_PAIRS) -> None:
    """Drop the weakest pairs, down to about the limit.

    A pair's strength is its weight over the square root of its tool's weight, so a rarely used tool keeps its
    words beside a heavily used tool. Equal pairs are ordered by hash, always in the same way: kept pairs can
    grow further. Exact wordings of requests go first: most occur once.
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
    (0.5 if feature & KIND_MASK == FeatureKind.EXACT else 1.0) * (1.0 + feature * 1e-5)
    for feature in range(_SHARES_MASK + 1)
]
"""Factor by the last bits of a feature: the kind's share, plus a small term to break ties."""


MAGIC, VERSION = b"APST", 1
_TYPE_CODES = "QdQdddqd"


def state_to_bytes(state: State) -> bytes:
    """Pack counts without any loss of digits."""
    header = {
        "half_life_days": state.half_life_days,
        "octave": state.octave,
        "names": state.names,
        "plans": state.plans,
        "roster": state.roster,
    }
    columns: list[array[Any]] = []
    for pairs in (state.good, state.bad):
        keys = sorted(pairs)
        columns += [array("Q", keys), array("d", [pairs[key] for key in keys])]
    days = sorted(state.days)
    columns += [array("d", state.tool_good), array("d", state.tool_bad)]
    columns += [array("q", days), array("d", [state.days[day] for day in days])]
    return pack(MAGIC, VERSION, header, columns)


def state_from_bytes(data: bytes) -> State:
    """Unpack counts.

    Raises:
        CorruptPriorsError: The bytes are not counts, or their parts do not fit together.
    """
    header, columns = unpack(data, MAGIC, VERSION, _TYPE_CODES)
    good, good_weights, bad, bad_weights, tool_good, tool_bad, days, day_weights = columns
    names = header["names"] if isinstance(header.get("names"), list) else []
    sizes = (
        len(good) == len(good_weights)
        and len(bad) == len(bad_weights)
        and len(days) == len(day_weights)
        and len(names) == len(tool_good) == len(tool_bad) <= MAX_TOOLS
    )
    weights = (*good_weights, *bad_weights, *tool_good, *tool_bad, *day_weights)
    if not sizes or not _is_header(header) or not all(math.isfinite(one) and one >= 0 for one in weights):
        raise CorruptPriorsError("the parts of the counts do not fit together")
    most = 1 << (KEY_BITS + TOOL_BITS)
    if any(key >= most or key & TOOL_MASK >= len(names) for key in (*good, *bad)):
        raise CorruptPriorsError("a count is of a tool that is not there")
    return State(
        half_life_days=float(header["half_life_days"]),
        octave=header["octave"],
        names=names,
        good=dict(zip(good, good_weights, strict=True)),
        bad=dict(zip(bad, bad_weights, strict=True)),
        tool_good=list(tool_good),
        tool_bad=list(tool_bad),
        days=dict(zip(days, day_weights, strict=True)),
        plans=header["plans"],
        roster=header["roster"],
    )


def _is_header(header: Mapping[str, Any]) -> bool:
    half_life, roster = header.get("half_life_days"), header.get("roster")
    return (
        isinstance(half_life, int | float)
        and half_life > 0
        and isinstance(header.get("octave"), int)
        and isinstance(header.get("plans"), int)
        and isinstance(header.get("names"), list)
        and all(isinstance(name, str) for name in header["names"])
        and len(set(header["names"])) == len(header["names"])
        and isinstance(roster, dict)
        and all(day is None or isinstance(day, int) for day in roster.values())
    )
