"""Data types of a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from context.types import JsonObject


class PlanMode(StrEnum):
    """Kind of plan: ordered steps, or a single tool."""

    PLAN = "plan"
    ROUTE = "route"


@dataclass(frozen=True)
class ToolStep:
    """A single step of a plan.

    Attributes:
        order: The step's number, 1..n.
        tool: An id of the catalog.
        args: Arguments from the planner, unchanged.
        rationale: The planner's reason.
    """

    order: int
    tool: str
    args: Mapping[str, object] = field(default_factory=dict)
    rationale: str = ""

    def as_json(self) -> JsonObject:
        """Return the step as JSON for storage and answers; its outcome is still unknown."""
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
    """Parsed answer of a planner: steps for known tools, and gaps.

    Attributes:
        steps: In order; empty if nothing fits.
        gap_warning: Missing abilities of the catalog, in words; None without a gap.
        more_steps_likely: True if more steps would follow; None if not asked.
    """

    steps: tuple[ToolStep, ...] = ()
    gap_warning: str | None = None
    more_steps_likely: bool | None = None
