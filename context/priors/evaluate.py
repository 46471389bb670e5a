"""Evaluation: whether what was learned ranks the tools of recent plans better than what is in force."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from context.priors.types import JoinedPlan

FIRST, FEW = 1, 5
LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class Quality:
    """How well a ranking foresees the tools of plans.

    Attributes:
        plans: The plans that were asked about.
        recall_at_1: The share of a plan's tools that stand first, averaged over plans, in [0, 1].
        recall_at_5: The share among the first five.
    """

    plans: int = 0
    recall_at_1: float = 0.0
    recall_at_5: float = 0.0

    @property
    def score(self) -> float:
        """What sets are compared by: the mean of both."""
        return (self.recall_at_1 + self.recall_at_5) / 2

    def as_json(self) -> dict[str, float]:
        """The numbers, rounded."""
        return {name: round(value, 4) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Verdict:
    """Whether a set may take effect, and why, in words and numbers."""

    is_better: bool
    reason: str


def grade_rankings(
    plans: Sequence[JoinedPlan], rankings: Sequence[Sequence[str]], entry_ids: frozenset[str]
) -> Quality:
    """Grade rankings of plans that they were not made from.

    Args:
        plans: With their outcomes; the tools that did their work are what should stand first.
        rankings: Entry ids, best first, one ranking a plan.
        entry_ids: The catalog's; plans without a tool of it are passed over.

    Returns:
        The quality; of no plans where none has a tool of the catalog that did its work.
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


def judge_set(candidate: Quality, lexical: Quality, active: Quality | None, *, least_plans: int) -> Verdict:
    """Say whether a set is better than words alone and than the set in force.

    Args:
        candidate: How the new set did.
        lexical: How words alone did, on the same plans.
        active: How the set in force did; None where none is.
        least_plans: Fewer plans than this prove nothing.

    Returns:
        The verdict; what is only as good as what is in force changes nothing.
    """
    if candidate.plans < least_plans:
        return Verdict(
            is_better=False,
            reason=f"{candidate.plans} held-out plans prove nothing; {least_plans} are needed",
        )
    if candidate.score <= lexical.score + LEAST_GAIN:
        return Verdict(is_better=False, reason=f"no better than words alone: {_compare(candidate, lexical)}")
    if candidate.recall_at_5 < lexical.recall_at_5 - LEAST_GAIN:
        return Verdict(
            is_better=False, reason=f"loses tools that words alone find: {_compare(candidate, lexical)}"
        )
    if active is not None and candidate.score <= active.score + LEAST_GAIN:
        return Verdict(
            is_better=False, reason=f"no better than the set in force: {_compare(candidate, active)}"
        )
    beaten = "words alone" if active is None else "the set in force and words alone"
    return Verdict(is_better=True, reason=f"better than {beaten}: {_compare(candidate, active or lexical)}")


def _compare(ours: Quality, other: Quality) -> str:
    return (
        f"recall@1 {ours.recall_at_1:.3f} against {other.recall_at_1:.3f}, "
        f"recall@5 {ours.recall_at_5:.3f} against {other.recall_at_5:.3f}"
    )


def measure_drift(before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> float:
    """Say how far rankings have moved: the share of the first five that are others now.

    Args:
        before: Rankings of some intents.
        after: Rankings of the same intents.

    Returns:
        In [0, 1]; 0 where there is nothing to compare.
    """
    moved = [
        1.0 - len(set(old[:FEW]).intersection(new[:FEW])) / max(len(old[:FEW]), 1)
        for old, new in zip(before, after, strict=True)
    ]
    return sum(moved) / len(moved) if moved else 0.0
