"""Stored plans prepared for learning: new and already counted steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from context.priors.types import JoinedPlan, ToolOutcome

MOST_UNFINISHED = 2_000
_DAY_S = 86_400
_ENDED = ("ok", "error")


class Unfinished:
    """Plans with steps without an outcome, and their already counted steps.

    Such a plan is read again after more steps end; each step is counted once.
    """

    def __init__(self, steps: Mapping[str, Sequence[int]]) -> None:
        """Begin with the stored state: the counted step orders by plan id."""
        self._steps = {plan_id: list(orders) for plan_id, orders in steps.items()}

    def read(
        self,
        plan_id: str,
        intent: str,
        steps: Any,
        *,
        at_s: float,
        category: str = "",
    ) -> JoinedPlan:
        """Read a plan.

        Args:
            plan_id: The plan's id.
            intent: The user's request.
            steps: JSON objects with order, tool and outcome; invalid steps are ignored, without an effect on
                other plans.
            at_s: Time of the last joined outcome, in seconds since 1970.
            category: The intent's category, empty for none.

        Returns:
            The plan's ended and uncounted steps.
        """
        taught = self._steps.pop(plan_id, [])
        steps = [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
        ended = [step for step in steps if step.get("outcome") in _ENDED]
        new = [step for step in ended if step.get("order") not in taught]
        if len(ended) < len(steps):
            self._steps[plan_id] = [step["order"] for step in ended if isinstance(step.get("order"), int)]
            while len(self._steps) > MOST_UNFINISHED:
                del self._steps[next(iter(self._steps))]
        return JoinedPlan(
            intent,
            [ToolOutcome(str(step.get("tool") or ""), step["outcome"] == "ok") for step in new],
            int(at_s // _DAY_S),
            category,
            counts=not taught,
        )

    def as_json(self) -> dict[str, list[int]]:
        """Return the state to store for the next run."""
        return dict(self._steps)
