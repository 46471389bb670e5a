"""What became of planned steps: reported by a client, or read from a turn's own tool results."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from context.artifacts.toolcalls import ToolCall, read_calls
from context.calls import looks_failed
from context.clip import one_line
from context.contents import Part, PartKind, read_parts
from context.sanitize import decode_inner
from context.types import Message

MAX_ERROR_CHARS = 500

_NOT_A_LETTER = re.compile(r"[\W_]+")
_SERVER = "__"
"""Stands between a server's name and the tool's where clients join them."""


class Outcome(StrEnum):
    """How a step ended."""

    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True)
class StepOutcome:
    """How one step of a plan ended.

    Attributes:
        order: The step, as the plan numbers it.
        outcome: How it ended.
        error: What went wrong, where something did.
    """

    order: int
    outcome: Outcome
    error: str | None = None


@dataclass(frozen=True)
class Merged:
    """What became of reported outcomes.

    Attributes:
        steps: The plan's steps as they stand now.
        changed: How many of them are new; 0 where all of it was known.
        unknown: Reported orders that the plan does not have; where there are any, nothing was merged.
        conflicting: Orders that ended differently before; where there are any, nothing was merged.
    """

    steps: Sequence[Mapping[str, Any]]
    changed: int = 0
    unknown: Sequence[int] = ()
    conflicting: Sequence[int] = ()


def merge_outcomes(steps: Sequence[Mapping[str, Any]], outcomes: Sequence[StepOutcome]) -> Merged:
    """Merge outcomes into a plan's steps: all of them, or none.

    Args:
        steps: Steps as they are stored.
        outcomes: What is reported, each step once.

    Returns:
        The steps with their outcomes, and what was wrong with the report.
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


@dataclass(frozen=True)
class ToolEnd:
    """A tool call of a turn that has its result.

    Attributes:
        tool: The tool, as the call names it.
        error: What went wrong; None where nothing did.
        arguments: What it was called with, in one spelling; None where no call is known.
    """

    tool: str
    error: str | None = None
    arguments: str | None = None

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return Outcome.OK if self.error is None else Outcome.ERROR


def read_tool_ends(messages: Sequence[Message]) -> list[ToolEnd]:
    """List the tool calls of a turn that have a result, in the order of the results.

    Args:
        messages: The turn's messages, in any wire format.

    Returns:
        Failed where the result is flagged as an error, or reads like one where nothing is flagged.
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
    """The arguments, the same whatever the order of their names and the blanks between them."""
    if call is None:
        return None
    try:
        values = decode_inner(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        return call.arguments
    return json.dumps(values, sort_keys=True, separators=(",", ":"), default=str)


def _error_of(part: Part) -> str | None:
    failed = looks_failed(part.text) if part.failed is None else part.failed
    return (one_line(part.text, MAX_ERROR_CHARS) or "failed") if failed else None


def match_outcomes(steps: Sequence[Mapping[str, Any]], ends: Iterable[ToolEnd]) -> list[StepOutcome]:
    """Say how steps ended, as far as a turn's tool calls tell.

    A call that failed and was made again with the same arguments is one step, which ended as the last of its
    tries did. A tool that was planned once and called again ended as its last call did. A step whose tool was
    not called has no outcome.

    Args:
        steps: Steps with order and tool.
        ends: The turn's tool calls, from `read_tool_ends`.

    Returns:
        The outcomes of those steps that were called, by order.
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
    """Each call once, at its first try's place: the last try of one that failed and was made again."""
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
    """A name that every wire can carry: clients write `blog.draft` as `blog_draft` where they must."""
    return _NOT_A_LETTER.sub("_", name.casefold())
