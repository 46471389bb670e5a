"""Projection of recent plans for people and agents: intent, planned tools and outcomes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from context.text.cut import one_line
from context.tool_plans.outcomes import Outcome
from context.types import JsonObject

MAX_INTENT_CHARS = 300
MAX_TOOLS = 50


@dataclass(frozen=True)
class PastPlan:
    """A stored plan for the projection.

    Attributes:
        intent_sha: SHA-256 of the intent's normal form, in hex; equal intents form a group.
        intent: The user's request.
        at: Time of the request.
        mode: `plan` or `route`.
        catalog: The catalog's name, if known.
        steps: Tool and outcome of each step.
        has_gap: True if the catalog lacked a tool.
    """

    intent_sha: str
    intent: str
    at: datetime
    mode: str
    catalog: str | None
    steps: Sequence[Mapping[str, Any]]
    has_gap: bool


def project_plans(plans: Iterable[PastPlan], *, most_groups: int) -> JsonObject:
    """Group plans by intent, and count tools and outcomes.

    Args:
        plans: Newest first.
        most_groups: The most groups, >= 1; the newest stay.

    Returns:
        `{plans: [...], tools: [...], considered, groups}`, JSON-ready: groups newest first, tools by number
        of planned steps.
    """
    every = list(plans)
    groups: dict[str, list[PastPlan]] = {}
    for plan in every:
        groups.setdefault(plan.intent_sha, []).append(plan)
    return {
        "plans": [_group(members) for members in list(groups.values())[:most_groups]],
        "tools": _tools(every),
        "considered": len(every),
        "groups": len(groups),
    }


def _group(plans: Sequence[PastPlan]) -> JsonObject:
    newest = plans[0]
    return {
        "intent_sha": newest.intent_sha,
        "intent": one_line(newest.intent, MAX_INTENT_CHARS),
        "times": len(plans),
        "last_at": newest.at.isoformat(),
        "mode": newest.mode,
        "catalogs": sorted({plan.catalog for plan in plans if plan.catalog}),
        "last_steps": [str(step["tool"]) for step in newest.steps],
        "gaps": sum(plan.has_gap for plan in plans),
        "tools": _tools(plans),
    }


def _tools(plans: Sequence[PastPlan]) -> list[JsonObject]:
    """Count planned steps and outcomes by tool, most planned first."""
    planned: Counter[str] = Counter()
    ended: Counter[tuple[str, str]] = Counter()
    for plan in plans:
        for step in plan.steps:
            tool = str(step["tool"])
            planned[tool] += 1
            ended[tool, step.get("outcome") or "unknown"] += 1
    often = sorted(planned, key=lambda tool: (-planned[tool], tool))[:MAX_TOOLS]
    return [
        {
            "tool": tool,
            "planned": planned[tool],
            "ok": ended[tool, Outcome.OK],
            "error": ended[tool, Outcome.ERROR],
            "unknown": ended[tool, "unknown"],
        }
        for tool in often
    ]
