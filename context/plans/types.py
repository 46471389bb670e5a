"""The values of a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from context.types import JsonObject


class PlanMode(StrEnum):
    """What is asked for: ordered steps, or the one tool to go to."""

    PLAN = "plan"
    ROUTE = "route"


@dataclass(frozen=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        order: Its number, 1..n.
        tool: An id of the catalog.
        args: Its arguments, as the planner gave them.
        rationale: Why, in the planner's words.
    """

    order: int
    tool: str
    args: Mapping[str, object] = field(default_factory=dict)
    rationale: str = ""

    def as_json(self) -> JsonObject:
        """The step as it is stored and answered; its outcome is not known yet."""
        return {
            "order": self.order,
            "tool": self.tool,
            "args": dict(self.args),
            "rationale": self.rationale,
            "outcome": None,
            "error": None,
        }


@dataclass(frozen=True)
class PlanDraft:
    """What became of a planner's answer: steps that the catalog can do, and what it cannot.

    Attributes:
        steps: In order; empty where nothing fits.
        gap_warning: What the catalog lacks, in words; None where nothing.
        more_steps_likely: Whether more would follow; None where it was not asked.
    """

    steps: tuple[PlanStep, ...] = ()
    gap_warning: str | None = None
    more_steps_likely: bool | None = None
