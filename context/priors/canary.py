"""Canary of a set of priors: sessions that are served the new set, and the verdict by outcomes of plans."""

import hashlib
import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

from context.types import Share, wilson

CONFIDENCE = 0.95
"""Confidence of a verdict over all looks of a canary together."""
_HASH_BYTES = 8
_NOTHING = 1e-12
"""Variance below which it is the rounding of a sum."""


def is_served(unit: str, *, salt: str, share: float) -> bool:
    """Tell whether a session is served the new set; the same answer every time.

    Args:
        unit: Id of the session.
        salt: Name of the canary; another canary is served to other sessions.
        share: Share of sessions served the new set, in [0, 1].
    """
    digest = hashlib.blake2b(f"{salt}\0{unit}".encode(), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest) < share * float(256**_HASH_BYTES)


@dataclass(frozen=True)
class ArmCounts:
    """Outcomes of the plans ranked by one set.

    A plan went well if at least one step has an outcome and none of its steps failed.

    Attributes:
        sessions: Number of sessions with such plans; a plan without a session counts as one.
        plans: Number of plans with an outcome.
        well: Number of plans that went well.
        well_squares: Sum of the squares of the plans that went well, by session.
        cross: Sum of plans times plans that went well, by session.
        plan_squares: Sum of the squares of the plans, by session.
    """

    sessions: int = 0
    plans: int = 0
    well: int = 0
    well_squares: int = 0
    cross: int = 0
    plan_squares: int = 0

    @property
    def effective_plans(self) -> float:
        """Number of independent plans with the same information: plans of one session are alike.

        The variance of a ratio over sessions says how alike, and equal sessions prove nothing about it: each
        counts as one plan then. Between 1 and the number of plans; 0 without plans.
        """
        if not self.plans:
            return 0.0
        share = self.well / self.plans
        spread = self.well_squares - 2 * share * self.cross + share**2 * self.plan_squares
        variance = spread / self.plans**2 * self.sessions / max(self.sessions - 1, 1)
        if variance <= _NOTHING:
            return float(self.sessions)
        return min(max(share * (1 - share) / variance, 1.0), float(self.plans))

    def share(self, confidence: float = CONFIDENCE) -> Share | None:
        """Compute the share of plans that went well, by Wilson over the effective plans.

        Returns:
            The share with its interval; None without plans.
        """
        size = self.effective_plans
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return wilson(self.well / self.plans * size, size, z=z) if self.plans else None


@dataclass(frozen=True)
class Difference:
    """A difference of two shares, in [-1, 1], with its confidence interval."""

    difference: float
    low: float
    high: float


def compare_arms(new: ArmCounts, old: ArmCounts, *, confidence: float = CONFIDENCE) -> Difference | None:
    """Compare the shares of plans that went well: new less old, by Newcombe's hybrid score interval.

    Returns:
        The difference; None if either set has no plans.
    """
    ours, theirs = new.share(confidence), old.share(confidence)
    if ours is None or theirs is None:
        return None
    difference = ours.share - theirs.share
    return Difference(
        difference,
        difference - math.hypot(ours.share - ours.low, theirs.high - theirs.share),
        difference + math.hypot(ours.high - ours.share, theirs.share - theirs.low),
    )


class CanaryEnd(StrEnum):
    """End of a canary."""

    PROMOTED = "promoted"
    DROPPED = "dropped"


@dataclass(frozen=True)
class CanaryRules:
    """Rules of a verdict.

    Attributes:
        least_sessions: Least number of sessions with outcomes of each set, >= 1.
        margin: Largest loss of plans that went well, as a share, that the new set may have at the
            unfavourable end of the interval, in [0, 1].
        looks: Number of looks at most, one a day, >= 1.
    """

    least_sessions: int
    margin: float
    looks: int


@dataclass(frozen=True)
class CanaryVerdict:
    """Verdict of a look: an end, or none yet, with the reason in words and numbers."""

    end: CanaryEnd | None
    reason: str


def judge_canary(new: ArmCounts, old: ArmCounts, rules: CanaryRules, *, is_over: bool) -> CanaryVerdict:
    """Judge a new set by outcomes, beside the set in force in the same days.

    The interval is wide enough for all looks of the canary together, so that looking each day does not find
    by chance what is not there. Surely worse drops the set at once; surely not worse by more than the margin
    promotes it; a set without a verdict at the end is dropped.

    Args:
        new: Outcomes under the new set.
        old: Outcomes under the set in force.
        rules: Least numbers, margin and looks.
        is_over: True if the time of the canary is over.
    """
    undecided = CanaryEnd.DROPPED if is_over else None
    over = "the time is over: " if is_over else ""
    fewest = min(new.sessions, old.sessions)
    found = compare_arms(new, old, confidence=1 - (1 - CONFIDENCE) / rules.looks)
    if found is None or fewest < rules.least_sessions:
        few = f"outcomes of {new.sessions} and {old.sessions} sessions"
        return CanaryVerdict(undecided, f"{over}{few}, {rules.least_sessions} of each are needed")
    told = _tell(new, old, found)
    if found.high < 0:
        return CanaryVerdict(CanaryEnd.DROPPED, f"fewer plans went well: {told}")
    if found.low >= -rules.margin:
        better = "more plans went well" if found.low > 0 else f"not worse by more than {rules.margin:.1%}"
        return CanaryVerdict(CanaryEnd.PROMOTED, f"{better}: {told}")
    return CanaryVerdict(undecided, f"{over}outcomes do not decide: {told}")


def _tell(new: ArmCounts, old: ArmCounts, found: Difference) -> str:
    return (
        f"{new.well} of {new.plans} plans against {old.well} of {old.plans}, "
        f"difference {found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
    )
