"""Outcomes of planned steps, reported or read from results, and a projection of recent plans."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from context.conversation.failures import looks_failed
from context.conversation.tool_calls import ToolCall, read_calls
from context.text.cut import one_line
from context.text.sanitize import decode_inner
from context.types import JsonObject, Message
from context.wire.parts import MessagePart, PartKind, read_parts

MAX_ERROR_CHARS = 500

_NOT_A_LETTER = re.compile(r"[\W_]+")
_SERVER = "__"
"""Separator between server name and tool name, as joined by clients."""


class Outcome(StrEnum):
    """Outcome of a step."""

    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True)
class StepOutcome:
    """Outcome of a single plan step.

    Attributes:
        order: The step's number in the plan.
        outcome: The outcome.
        error: Error text; None without an error.
    """

    order: int
    outcome: Outcome
    error: str | None = None


@dataclass(frozen=True)
class Merged:
    """Result of merging reported outcomes.

    Attributes:
        steps: The plan's current steps.
        changed: Number of new outcomes; 0 if all were known.
        unknown: Reported orders missing from the plan; nothing is merged if any exist.
        conflicting: Orders with a different earlier outcome; nothing is merged if any exist.
    """

    steps: Sequence[Mapping[str, Any]]
    changed: int = 0
    unknown: Sequence[int] = ()
    conflicting: Sequence[int] = ()


def merge_outcomes(steps: Sequence[Mapping[str, Any]], outcomes: Sequence[StepOutcome]) -> Merged:
    """Merge outcomes into a plan's steps: all or nothing.

    Args:
        steps: Stored steps.
        outcomes: Reported outcomes, each step once.

    Returns:
        The steps with their outcomes, and the faults of the report.
    """
    known = {step["order"]: step.get("outcome") for step in steps}
    unknown = sorted({one.order for one in outcomes if one.order not in known})
    conflicting = sorted({one.order for one in outcomes if known.get(one.order) not in (None, one.outcome)})
    if unknown or conflicting:
        return Merged(steps, unknown=unknown, conflicting=conflicting)
    new = {one.order: one for one in outcomes if known[one.order] is None}
    return Merged([_with_outcome(step, new.get(step["order"])) for step in steps], changed=len(new))


def _with_outcome(step: Mapping[str, Any], end: StepOutcome | None) -> Mapping[str, Any]:
    if end is None:
        return step
    error = one_line(end.error, MAX_ERROR_CHARS) if end.error else None
    return {**step, "outcome": end.outcome.value, "error": error}


def went_well(steps: Sequence[Mapping[str, Any]]) -> bool | None:
    """Tell whether no step of a plan failed; None while no step has an outcome."""
    known = {step.get("outcome") for step in steps} - {None}
    return Outcome.ERROR not in known if known else None


@dataclass(frozen=True)
class ToolEnd:
    """Finished tool call of a turn.

    Attributes:
        tool: The tool's name in the call.
        error: Error text; None without an error.
        arguments: The call's arguments in normal form; None without a known call.
    """

    tool: str
    error: str | None = None
    arguments: str | None = None

    @property
    def outcome(self) -> Outcome:
        """Outcome of the call."""
        return Outcome.OK if self.error is None else Outcome.ERROR


def read_tool_ends(messages: Sequence[Message]) -> list[ToolEnd]:
    """List a turn's tool calls with a result, in the order of the results.

    Args:
        messages: The turn's messages, in any wire format.

    Returns:
        The calls; a call failed if its result is flagged as an error, or reads like an error without any
        flag.
    """
    calls = read_calls(messages)
    ends: list[ToolEnd] = []
    for message in messages:
        for part in read_parts(message):
            if part.kind is PartKind.RESULT:
                call = calls.get(part.call_id)
                name = call.name if call else part.name
                if name:
                    ends.append(ToolEnd(name, _error_of(part), _arguments_of(call)))
    return ends


def _arguments_of(call: ToolCall | None) -> str | None:
    """Write the arguments in normal form, independent of key order and blanks."""
    if call is None:
        return None
    try:
        values = decode_inner(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        return call.arguments
    return json.dumps(values, sort_keys=True, separators=(",", ":"), default=str)


def _error_of(part: MessagePart) -> str | None:
    failed = looks_failed(part.text) if part.failed is None else part.failed
    return (one_line(part.text, MAX_ERROR_CHARS) or "failed") if failed else None


def match_outcomes(steps: Sequence[Mapping[str, Any]], ends: Iterable[ToolEnd]) -> list[StepOutcome]:
    """Match a turn's tool calls to plan steps.

    A failed call repeated with the same arguments counts as a single step with the last try's outcome. A tool
    planned once and called again takes its last call's outcome. A step without a call has no outcome.

    Args:
        steps: Steps with order and tool.
        ends: The turn's tool calls, from `read_tool_ends`.

    Returns:
        The outcomes of the called steps, by order.
    """
    planned: dict[str, list[int]] = defaultdict(list)
    for step in sorted(steps, key=lambda step: int(step["order"])):
        planned[_plain(str(step["tool"]))].append(step["order"])
    of_tool: dict[str, list[ToolEnd]] = defaultdict(list)
    for end in _last_tries(ends):
        whole, bare = _plain(end.tool), _plain(end.tool.rpartition(_SERVER)[2] or end.tool)
        of_tool[whole if whole in planned else bare].append(end)
    outcomes: list[StepOutcome] = []
    for tool, orders in planned.items():
        found = of_tool.get(tool, [])
        for place, order in enumerate(orders[: len(found)]):
            end = found[-1] if place == len(orders) - 1 else found[place]
            outcomes.append(StepOutcome(order, end.outcome, end.error))
    return sorted(outcomes, key=lambda one: one.order)


def _last_tries(ends: Iterable[ToolEnd]) -> list[ToolEnd]:
    """Keep each call once, at its first try's place: the last try of a failed and repeated call."""
    kept: list[ToolEnd] = []
    failed: dict[tuple[str, str], int] = {}
    for end in ends:
        call = (end.tool, end.arguments) if end.arguments is not None else None
        place = failed.pop(call, len(kept)) if call else len(kept)
        kept[place : place + 1] = [end]
        if call and end.outcome is Outcome.ERROR:
            failed[call] = place
    return kept


def _plain(name: str) -> str:
    """Write a name in a spelling valid in every wire format: `blog.draft` is also sent as `blog_draft`."""
    return _NOT_A_LETTER.sub("_", name.casefold())


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
