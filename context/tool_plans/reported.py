"""Parsing of the plan sent with a turn, under any platform's field names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from context.text.cut import clip, one_line
from context.text.sanitize import MAX_ID_CHARS, MAX_TOOL_NAME_CHARS, id_fault
from context.tool_plans.answer import MAX_RATIONALE_CHARS, bounded_args
from context.tool_plans.outcomes import (
    Outcome,
    StepOutcome,
    ToolEnd,
    match_outcomes,
    merge_outcomes,
    read_tool_ends,
)
from context.tool_plans.prompt import PlanMode, ToolStep
from context.types import JsonObject, Message
from context.wire.parts import PartKind, read_parts

MAX_INTENT_CHARS = 20_000
MAX_REPORTED_STEPS = 50

_TOOL_KEYS = ("tool", "name", "pack", "pipeline", "id", "tool_name", "function")
_ARG_KEYS = ("args", "arguments", "input", "inputs", "parameters")
_WHY_KEYS = ("rationale", "reason", "why", "description")
_STEP_KEYS = ("steps", "plan", "tools", "tool_calls")
_DURATION_KEYS = {"duration_ms": 1, "latency_ms": 1, "elapsed_ms": 1, "took_ms": 1, "duration_s": 1_000}
"""Field names of a plan's duration, each with the unit's length in milliseconds."""
MAX_DURATION_MS = 2**31 - 1
MAX_VERSION = 2**31 - 1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_INTENT_KEYS = ("intent", "query", "task", "goal", "objective")


@dataclass(frozen=True)
class ReportedPlan:
    """A plan followed by a turn.

    Attributes:
        follows: Id of the Afterturn plan followed by the turn; None if not named.
        intent: The user's request: the plan's own text, else the user's message.
        mode: Ordered steps, or a single pick.
        catalog: The catalog's name, if the plan has a valid name.
        catalog_digest: The catalog's version, if named.
        model: The planner model, if named.
        steps: Steps in stored form, with outcomes; empty if the plan only has an id.
        ends: The turn's finished tool calls.
        duration_ms: Planning time, 0 to `MAX_DURATION_MS`, if named.
        prior_set: Set of priors that ranked the catalog, as the answer of a ranking says; 0 for words alone,
            None if not named.
    """

    follows: UUID | None
    intent: str
    mode: PlanMode
    catalog: str | None
    catalog_digest: str | None
    model: str | None
    steps: tuple[JsonObject, ...]
    ends: tuple[ToolEnd, ...]
    duration_ms: int | None = None
    prior_set: int | None = None

    def outcomes_of(self, steps: Sequence[Mapping[str, object]]) -> list[StepOutcome]:
        """Match the turn's tool calls to the steps of the followed plan."""
        return match_outcomes(steps, self.ends)


def read_reported_plan(plan: JsonObject, messages: Sequence[Message]) -> ReportedPlan | None:
    """Read the plan of a turn event.

    Args:
        plan: The platform's object; no field is required, and no field is refused.
        messages: The turn's messages.

    Returns:
        The plan; None without steps and without the id of an Afterturn plan.
    """
    steps = _steps(plan)
    follows = _uuid(plan.get("plan_id"))
    if not steps and follows is None:
        return None
    ends = tuple(read_tool_ends(messages))
    return ReportedPlan(
        follows=follows,
        intent=_intent(plan, messages),
        mode=PlanMode.ROUTE if plan.get("mode") == PlanMode.ROUTE else PlanMode.PLAN,
        catalog=_catalog(plan.get("catalog")),
        catalog_digest=_digest(plan.get("catalog_digest")),
        model=_name(plan, ("model", "planner_model"), MAX_ID_CHARS),
        steps=tuple(_with_ends(steps, ends)),
        ends=ends,
        duration_ms=_duration(plan),
        prior_set=_prior_set(plan),
    )


def _with_ends(steps: Sequence[JsonObject], ends: Sequence[ToolEnd]) -> list[JsonObject]:
    told = {step["order"] for step in steps if step["outcome"]}
    seen = [one for one in match_outcomes(steps, ends) if one.order not in told]
    return [dict(step) for step in merge_outcomes(steps, seen).steps]


def _steps(plan: JsonObject) -> list[JsonObject]:
    listed: list[object] = next((plan[key] for key in _STEP_KEYS if isinstance(plan.get(key), list)), [])
    named = [(item, _tool(item)) for item in listed[:MAX_REPORTED_STEPS]]
    return [
        _step(order, tool, item if isinstance(item, dict) else {})
        for order, (item, tool) in enumerate(((item, tool) for item, tool in named if tool), 1)
    ]


def _tool(item: object) -> str | None:
    if isinstance(item, str):
        return one_line(item, MAX_TOOL_NAME_CHARS) or None
    if not isinstance(item, dict):
        return None
    inner = item.get("function")
    return _name(inner if isinstance(inner, dict) else item, _TOOL_KEYS, MAX_TOOL_NAME_CHARS)


def _step(order: int, tool: str, item: JsonObject) -> JsonObject:
    args: object = next((item[key] for key in _ARG_KEYS if item.get(key) is not None), {})
    why = next((item[key] for key in _WHY_KEYS if isinstance(item.get(key), str)), "")
    step = ToolStep(order, tool, bounded_args(args) or {}, clip(why, MAX_RATIONALE_CHARS)).as_json()
    if item.get("outcome") in (Outcome.OK, Outcome.ERROR):
        step["outcome"] = str(item["outcome"])
        error = item.get("error")
        step["error"] = one_line(error, MAX_RATIONALE_CHARS) if isinstance(error, str) else None
    return step


def _name(source: Mapping[str, object], keys: Sequence[str], max_chars: int) -> str | None:
    value = next((source[key] for key in keys if isinstance(source.get(key), str) and source[key]), None)
    return one_line(str(value), max_chars) if value else None


def _catalog(value: object) -> str | None:
    """Return a valid catalog name unchanged, never shortened: a shortened name is a different name."""
    return value if isinstance(value, str) and id_fault(value) is None else None


def _digest(value: object) -> str | None:
    return value if isinstance(value, str) and _DIGEST.fullmatch(value) else None


def _duration(plan: JsonObject) -> int | None:
    """Read a duration in milliseconds; None if out of range or not a number."""
    for key, unit in _DURATION_KEYS.items():
        value = plan.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            taken = value * unit
            return round(taken) if 0 <= taken <= MAX_DURATION_MS else None
    return None


def _prior_set(plan: JsonObject) -> int | None:
    """Read the set of a ranking's answer, where null says that words alone ranked."""
    value = plan.get("prior_set", False)
    if value is None:
        return 0
    is_version = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_VERSION
    return value if is_version else None


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _intent(plan: JsonObject, messages: Sequence[Message]) -> str:
    said = next(
        (plan[key] for key in _INTENT_KEYS if isinstance(plan.get(key), str) and plan[key].strip()), None
    )
    if said is None:
        opening = next((message for message in messages if message.starts_turn), None)
        parts = read_parts(opening) if opening else ()
        said = "\n".join(part.text for part in parts if part.kind is PartKind.TEXT)
    return clip(said, MAX_INTENT_CHARS)
