"""Category factors: trust in each preflight category, fitted to the tools called in later turns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from context.preflight.config import PreflightRules
from context.preflight.replay import MOST_HARM, PastDecision, replay
from context.preflight.types import Category, LearnedWeights
from context.priors.types import CorruptPriorsError

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
