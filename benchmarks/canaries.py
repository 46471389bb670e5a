"""How often a canary ends wrongly, and how soon it finds a difference: daily looks, plans alike in a session.

Baseline: Wilson's 95 % intervals over plans, looked at each day, from the first outcome on.

Run: `.venv/bin/python -m benchmarks.canaries [--runs N]`
"""

import random
from dataclasses import dataclass, field
from typing import Annotated, Protocol

import typer

from context.priors.canary import ArmCounts, CanaryEnd, CanaryRules, judge_canary
from context.types import wilson

DAYS = 14
SHARE = 0.2
PLANS = (1, 1, 2, 3, 5, 12)
"""Plans of a session, each number as likely."""
ALIKE = 2.0
"""Weight of a session's own chance beside the chance of all: the smaller, the more alike its plans."""


class Judge(Protocol):
    """A rule that ends a canary."""

    def __call__(self, new: ArmCounts, old: ArmCounts, *, is_over: bool) -> CanaryEnd | None:
        """Judge by the counts so far."""
        ...


@dataclass
class Arm:
    """Growing counts of one set."""

    chance: float
    counts: ArmCounts = field(default_factory=ArmCounts)

    def add(self, chance: random.Random) -> None:
        """Add a session with its plans."""
        own = chance.betavariate(self.chance * ALIKE, (1 - self.chance) * ALIKE)
        plans = chance.choice(PLANS)
        well = sum(chance.random() < own for _ in range(plans))
        now = self.counts
        self.counts = ArmCounts(
            now.sessions + 1,
            now.plans + plans,
            now.well + well,
            now.well_squares + well * well,
            now.cross + well * plans,
            now.plan_squares + plans * plans,
        )


def ours(new: ArmCounts, old: ArmCounts, *, is_over: bool) -> CanaryEnd | None:
    """Judge as the product does, with its default settings."""
    return judge_canary(new, old, CanaryRules(50, 0.02, DAYS), is_over=is_over).end


def plain(new: ArmCounts, old: ArmCounts, *, is_over: bool) -> CanaryEnd | None:
    """Judge by whether the intervals over plans part, at any number of plans."""
    one, other = wilson(new.well, new.plans), wilson(old.well, old.plans)
    if one and other and one.low > other.high:
        return CanaryEnd.PROMOTED
    if one and other and one.high < other.low:
        return CanaryEnd.DROPPED
    return CanaryEnd.DROPPED if is_over else None


def run(judge: Judge, chances: tuple[float, float], *, sessions: int, seed: int) -> tuple[str, int]:
    """Run one canary; returns its end and its days."""
    chance = random.Random(seed)  # noqa: S311 (a simulation)
    arms = Arm(chances[0]), Arm(chances[1])
    for day in range(1, DAYS + 1):
        for _ in range(sessions):
            arms[chance.random() >= SHARE].add(chance)
        is_over = day == DAYS
        end = judge(arms[0].counts, arms[1].counts, is_over=is_over)
        if end is not None:
            undecided = is_over and judge(arms[0].counts, arms[1].counts, is_over=False) is None
            return ("undecided" if undecided else str(end), day)
    raise AssertionError


def main(runs: Annotated[int, typer.Option(help="Canaries of each case.")] = 400) -> None:
    """Print shares of ends by case, for the baseline and for the product's rule."""
    print(f"{runs} canaries a case, {DAYS} days, share {SHARE}; promoted / dropped / undecided, mean days")
    print(f"{'new':>5} {'old':>5} {'sessions a day':>15}  {'plain Wilson over plans':<34} the product's rule")
    for new, old in ((0.85, 0.85), (0.75, 0.85), (0.95, 0.85), (0.80, 0.85), (0.90, 0.85)):
        for sessions in (50, 500):
            told = []
            for judge in (plain, ours):
                ends = [run(judge, (new, old), sessions=sessions, seed=seed) for seed in range(runs)]
                parts = [
                    sum(end == name for end, _ in ends) / runs
                    for name in ("promoted", "dropped", "undecided")
                ]
                days = sum(day for _, day in ends) / runs
                told.append(" / ".join(f"{part:5.1%}" for part in parts) + f"  {days:4.1f} days")
            print(f"{new:>5} {old:>5} {sessions:>15}  {told[0]:<34} {told[1]}")


if __name__ == "__main__":
    typer.run(main)
