"""Trust fitted to use: factors of categories, and learned priors judged against the active set."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from context.preflight.config import PreflightRules
from context.preflight.replay import MOST_HARM, PastDecision, replay
from context.preflight.types import Category, LearnedWeights
from context.priors.types import CorruptPriorsError, JoinedPlan

STEPS = (0.6, 0.8, 1.0, 1.15, 1.3)
"""Candidate factors; factors far from 1 would overrule the hand-written values."""
LEAST_CALLS = 10
"""Least turns with tool calls; a category with fewer turns keeps the factor 1."""
SHRINK_CALLS = 40.0
"""Turns with tool calls at half strength of the found factor."""


@dataclass(frozen=True)
class CategoryQuality:
    """Effect of a policy with factors on past decisions.

    Attributes:
        decisions: Number of decisions.
        with_calls: Number of decisions with a tool call in the turn.
        harm: Share of `with_calls` with a called tool hidden, in [0, 1].
        saving: Share of offered tools hidden, in [0, 1].
    """

    decisions: int
    with_calls: int
    harm: float
    saving: float

    def as_json(self) -> dict[str, float]:
        """Return the numbers, rounded."""
        return {name: round(value, 4) for name, value in asdict(self).items()}

    def beats(self, other: "CategoryQuality") -> bool:
        """Tell whether harm is lower, or saving higher at no more harm; above the bound only harm counts."""
        if self.harm != other.harm and max(self.harm, other.harm) > MOST_HARM:
            return self.harm < other.harm
        return self.harm <= other.harm and (self.harm, -self.saving) < (other.harm, -other.saving)


def grade_factors(
    past: Sequence[PastDecision], config: PreflightRules, factors: Mapping[Category, float]
) -> CategoryQuality:
    """Run a policy with factors over past decisions."""
    found = replay(past, config, weights=LearnedWeights(factors=factors))
    saving = found.hidden_now / found.offered if found.offered else 0.0
    return CategoryQuality(found.decisions, found.with_calls, found.harm, saving)


def fit_factors(past: Sequence[PastDecision], config: PreflightRules) -> dict[Category, float]:
    """Find factors with less harm, or more saving at equal harm, a category at a time.

    Args:
        past: Recorded decisions, with the tools called in their turns.
        config: The tenant's policy.

    Returns:
        Factors of categories, shrunk towards 1 by evidence; empty if no factor is better than 1.
    """
    calls = _calls_by_category(past)
    factors: dict[Category, float] = {}
    best = grade_factors(past, config, factors)
    for category in sorted(calls, key=lambda one: (-calls[one], one)):
        if calls[category] < LEAST_CALLS:
            continue
        for step in STEPS:
            shrunk = 1.0 + (step - 1.0) * calls[category] / (calls[category] + SHRINK_CALLS)
            tried = {**factors, category: round(shrunk, 3)}
            quality = grade_factors(past, config, tried)
            if quality.beats(best):
                best, factors = quality, tried
    return factors


def factors_to_bytes(factors: Mapping[Category, float]) -> bytes:
    """Write factors as JSON."""
    return json.dumps({str(category): float(factor) for category, factor in sorted(factors.items())}).encode()


def factors_from_bytes(data: bytes) -> dict[Category, float]:
    """Read factors; categories unknown to the present code are left out.

    Raises:
        CorruptPriorsError: The bytes are not factors.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptPriorsError("the factors cannot be read") from error
    if not isinstance(found, dict) or not all(type(one) is float for one in found.values()):
        raise CorruptPriorsError("the factors are not numbers by category")
    known = set(Category)
    return {Category(name): factor for name, factor in found.items() if name in known}


def _calls_by_category(past: Sequence[PastDecision]) -> dict[Category, int]:
    """Count the turns with tool calls per category with evidence."""
    found = dict.fromkeys(Category, 0)
    for one in past:
        if one.used:
            for category in replay([one], PreflightRules()).by_category:
                if category in found:
                    found[Category(category)] += 1
    return found


FIRST, FEW = 1, 5
LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class Quality:
    """Quality of a ranking, measured on the tools of plans.

    Attributes:
        plans: Number of graded plans.
        recall_at_1: Share of a plan's tools in first place, averaged over plans, in [0, 1].
        recall_at_5: Share among the first five.
    """

    plans: int = 0
    recall_at_1: float = 0.0
    recall_at_5: float = 0.0

    @property
    def score(self) -> float:
        """Score for comparing sets: the mean of both recalls."""
        return (self.recall_at_1 + self.recall_at_5) / 2

    def as_json(self) -> dict[str, float]:
        """Return the numbers, rounded."""
        return {name: round(value, 4) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class EvaluationVerdict:
    """Decision about activating a set, with the reason in words and numbers."""

    is_better: bool
    reason: str


def grade_rankings(
    plans: Sequence[JoinedPlan], rankings: Sequence[Sequence[str]], entry_ids: frozenset[str]
) -> Quality:
    """Grade rankings on held-out plans.

    Args:
        plans: Plans with outcomes; the successful tools should rank first.
        rankings: Entry ids, best first, a ranking per plan.
        entry_ids: The catalog's ids; plans without a tool of the catalog are skipped.

    Returns:
        The quality; of zero plans if no plan has a successful tool of the catalog.
    """
    firsts, fews = [], []
    for plan, ranking in zip(plans, rankings, strict=True):
        wanted = {step.tool for step in plan.tools if step.ok} & entry_ids
        if wanted:
            firsts.append(len(wanted.intersection(ranking[:FIRST])) / len(wanted))
            fews.append(len(wanted.intersection(ranking[:FEW])) / len(wanted))
    if not firsts:
        return Quality()
    return Quality(len(firsts), sum(firsts) / len(firsts), sum(fews) / len(fews))


@dataclass(frozen=True)
class Change:
    """A successful tool of a held-out plan whose place among the first five differs between two rankings.

    Attributes:
        intent: The user's request.
        tool: The tool.
        before: Place in the first ranking, from 1; None beyond the first five.
        after: Place in the second ranking.
    """

    intent: str
    tool: str
    before: int | None
    after: int | None

    @property
    def gain(self) -> float:
        """Gain of the second ranking by reciprocal places, in [-1, 1]."""
        return _worth(self.after) - _worth(self.before)


def find_changes(
    plans: Sequence[JoinedPlan],
    before: Sequence[Sequence[str]],
    after: Sequence[Sequence[str]],
    entry_ids: frozenset[str],
) -> list[Change]:
    """Find the tools that one ranking foresees better than another, the largest gain first, losses last.

    Args:
        plans: Plans with outcomes; failed tools and tools outside of the catalog are left out.
        before: Rankings of entry ids, a ranking per plan.
        after: Other rankings of the same plans.
        entry_ids: The catalog's ids.
    """
    changes = [
        Change(plan.intent, tool, _place(tool, old), _place(tool, new))
        for plan, old, new in zip(plans, before, after, strict=True)
        for tool in dict.fromkeys(step.tool for step in plan.tools if step.ok and step.tool in entry_ids)
    ]
    return sorted((one for one in changes if one.gain), key=lambda one: (-one.gain, one.intent, one.tool))


def _place(tool: str, ranking: Sequence[str]) -> int | None:
    return ranking.index(tool) + 1 if tool in ranking[:FEW] else None


def _worth(place: int | None) -> float:
    return 1 / place if place else 0.0


def judge_set(
    candidate: Quality, lexical: Quality, active: Quality | None, *, least_plans: int
) -> EvaluationVerdict:
    """Decide whether a set is better than words alone and than the active set.

    Args:
        candidate: Quality of the new set.
        lexical: Quality of words alone, on the same plans.
        active: Quality of the active set; None without an active set.
        least_plans: Least number of plans for a decision.

    Returns:
        The verdict; a set merely as good as the active set is rejected.
    """
    if candidate.plans < least_plans:
        return EvaluationVerdict(
            is_better=False,
            reason=f"{candidate.plans} held-out plans prove nothing; {least_plans} are needed",
        )
    if candidate.score <= lexical.score + LEAST_GAIN:
        return EvaluationVerdict(
            is_better=False, reason=f"no better than words alone: {_compare(candidate, lexical)}"
        )
    if candidate.recall_at_5 < lexical.recall_at_5 - LEAST_GAIN:
        return EvaluationVerdict(
            is_better=False, reason=f"loses tools that words alone find: {_compare(candidate, lexical)}"
        )
    if active is not None and candidate.score <= active.score + LEAST_GAIN:
        return EvaluationVerdict(
            is_better=False, reason=f"no better than the set in force: {_compare(candidate, active)}"
        )
    beaten = "words alone" if active is None else "the set in force and words alone"
    return EvaluationVerdict(
        is_better=True, reason=f"better than {beaten}: {_compare(candidate, active or lexical)}"
    )


def _compare(ours: Quality, other: Quality) -> str:
    return (
        f"recall@1 {ours.recall_at_1:.3f} against {other.recall_at_1:.3f}, "
        f"recall@5 {ours.recall_at_5:.3f} against {other.recall_at_5:.3f}"
    )


def measure_drift(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> float:
    """Measure how far rankings have moved: the share of changed entries among the first five.

    Args:
        before: Rankings of some intents.
        after: Rankings of the same intents.

    Returns:
        The drift, in [0, 1]; 0 without any ranking to compare.
    """
    moved = [
        1.0 - len(set(old[:FEW]).intersection(new[:FEW])) / max(len(old[:FEW]), 1)
        for old, new in zip(before, after, strict=True)
    ]
    return sum(moved) / len(moved) if moved else 0.0
