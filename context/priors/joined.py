"""Plans as they are stored, read for learning: which steps teach, and which have taught before."""

from collections.abc import Mapping, Sequence
from typing import Any

from context.priors.types import JoinedPlan, ToolOutcome

MOST_UNFINISHED = 2_000
_DAY_S = 86_400
_ENDED = ("ok", "error")


class Unfinished:
    """Plans some of whose steps have no outcome yet: which of their steps have taught already.

    Such a plan is read again when more of its steps end; each step teaches once.
    """

    def __init__(self, steps: Mapping[str, Sequence[int]]) -> None:
        """Begin with what was known; a plan's id to the orders of its steps."""
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
            plan_id: Which one.
            intent: What the user wanted.
            steps: JSON objects with order, tool and outcome; what is none of it teaches nothing, and keeps no
                other plan from teaching.
            at_s: When outcomes were joined last, in seconds since 1970.
            category: The intent's category, empty for none.

        Returns:
            Its steps that ended and have not taught yet.
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
        """What is to be kept for the next time."""
        return dict(self._steps)
