"""Tool plans as others tell them: reported with a turn, or as a row of a file."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from context.errors import InvalidInputError
from context.text.cut import clip, one_line
from context.text.sanitize import MAX_ID_CHARS, MAX_TOOL_NAME_CHARS, clean_text, id_fault
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


COLUMNS = ("id", "at", "user_id", "catalog", "intent", "tools", "outcome")
"""Names of the values of a row, in the order of the columns of a table."""

MAX_ROW_INTENT_CHARS = 100_000
MAX_TOOLS = 200
MAX_AHEAD = timedelta(days=1)
"""How far a time may lie in the future: clocks differ."""

_LISTS = ("tools", "outcome")
_SEPARATOR = "|"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class PlanRow:
    """A plan of a file.

    Attributes:
        intent: The user's request, not blank.
        tools: Names of the used tools in order, at least one.
        outcomes: `ok`, `error` or None for unknown, for each tool.
        at: Time of the outcome, with a zone.
        catalog: The catalog's name; None without a catalog.
        user_id: The user, for erasure; None without a user.
        given_id: The row's id in the file; None without an id.
    """

    intent: str
    tools: tuple[str, ...]
    outcomes: tuple[str | None, ...]
    at: datetime
    catalog: str | None = None
    user_id: str | None = None
    given_id: str | None = None

    def steps(self) -> list[JsonObject]:
        """Return the steps in stored form."""
        named = enumerate(zip(self.tools, self.outcomes, strict=True), 1)
        return [{**ToolStep(order, tool).as_json(), "outcome": outcome} for order, (tool, outcome) in named]

    def as_json(self) -> JsonObject:
        """Return the row as written to a file; known values alone."""
        told = set(self.outcomes)
        values = {
            "id": self.given_id,
            "at": self.at.astimezone(UTC).isoformat(),
            "user_id": self.user_id,
            "catalog": self.catalog,
            "intent": self.intent,
            "tools": list(self.tools),
            "outcome": self.outcomes[0] if len(told) == 1 else list(self.outcomes),
        }
        return {name: value for name, value in values.items() if value is not None}

    def content(self) -> bytes:
        """Return a SHA-256 digest of the row without the id."""
        said = {**self.as_json(), "id": None, "outcome": self.outcomes}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).digest()


def read_row(values: Any, *, now: datetime) -> PlanRow:
    """Read a row.

    Args:
        values: Values by the names of `COLUMNS`; `intent`, `tools` and `at` are required.
        now: Current time, with a zone.

    Raises:
        InvalidInputError: A value is missing, unknown or unusable; the message quotes none.
    """
    if not isinstance(values, dict):
        raise InvalidInputError("row", "must be an object with intent, tools and at")
    if unknown := sorted(values.keys() - set(COLUMNS)):
        raise InvalidInputError(
            one_line(str(unknown[0]), 100), f"is no name of a value: one of {', '.join(COLUMNS)}"
        )
    tools = _tools(values.get("tools"))
    return PlanRow(
        intent=_row_intent(values.get("intent")),
        tools=tools,
        outcomes=_outcomes(values.get("outcome"), len(tools)),
        at=_time(values.get("at"), now),
        catalog=_id(values, "catalog"),
        user_id=_id(values, "user_id"),
        given_id=_id(values, "id"),
    )


def _row_intent(value: object) -> str:
    if not isinstance(value, str) or not clean_text(value).strip():
        raise InvalidInputError("intent", "must be a text that says something")
    if len(value) > MAX_ROW_INTENT_CHARS:
        raise InvalidInputError("intent", f"must have at most {MAX_ROW_INTENT_CHARS:,} characters")
    return clean_text(value)


def _tools(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_TOOLS:
        raise InvalidInputError("tools", f"must be a list of 1 to {MAX_TOOLS} names")
    for tool in value:
        if not isinstance(tool, str) or not tool or clean_text(one_line(tool, MAX_TOOL_NAME_CHARS)) != tool:
            raise InvalidInputError("tools", f"a name is a line of 1 to {MAX_TOOL_NAME_CHARS} characters")
    return tuple(value)


def _outcomes(value: object, tools: int) -> tuple[str | None, ...]:
    told = value if isinstance(value, list) else [value] * tools
    if len(told) != tools:
        raise InvalidInputError("outcome", "must be one word for all tools, or a list with one for each")
    if not all(one is None or (isinstance(one, str) and one in set(Outcome)) for one in told):
        raise InvalidInputError("outcome", "is ok, error, or nothing where it is not known")
    return tuple(told)


def _time(value: object, now: datetime) -> datetime:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        at = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC) if at else None
    except (ValueError, OverflowError):
        at = None
    if at is None:
        raise InvalidInputError("at", "must be a time in ISO 8601, such as 2026-11-03T09:30:00Z")
    if not _EPOCH <= at <= now + MAX_AHEAD:
        raise InvalidInputError("at", "must lie after 1970 and not in the future")
    return at


def _id(values: Mapping[str, object], name: str) -> str | None:
    value = values.get(name)
    if value is None:
        return None
    fault = id_fault(value) if isinstance(value, str) else "must be a text"
    if fault or not isinstance(value, str):
        raise InvalidInputError(name, str(fault))
    return value


def read_cells(cells: Mapping[str, str]) -> dict[str, Any]:
    """Read the cells of a table as values for `read_row`: an empty cell is no value.

    Args:
        cells: Cells by name of the column; lists in JSON, or with `|` between the parts.

    Raises:
        InvalidInputError: A cell begins as a list in JSON and is none.
    """
    values: dict[str, Any] = {name: cell for name, cell in cells.items() if cell}
    for name in _LISTS:
        if name in values:
            values[name] = _list(name, values[name].strip())
    told = values.get("outcome")
    if told and len(told) == 1:
        values["outcome"] = told[0]
    return values


def _list(name: str, cell: str) -> list[Any]:
    if not cell.startswith("["):
        return [part.strip() or None for part in cell.split(_SEPARATOR)]
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise InvalidInputError(name, "is no list in JSON")
    return found


def write_cells(row: PlanRow) -> list[str]:
    """Write a row as the cells of a table, in the order of `COLUMNS`."""
    values = row.as_json()
    return [_cell(values.get(name)) for name in COLUMNS]


def _cell(value: Any) -> str:
    if not isinstance(value, list):
        return value or ""
    parts = [part or "" for part in value]
    plain = not any(_SEPARATOR in part or part.startswith("[") or part != part.strip() for part in parts)
    return _SEPARATOR.join(parts) if plain else json.dumps(value, ensure_ascii=False)


def number_equals(rows: Sequence[PlanRow]) -> list[int]:
    """Number equal rows of a file from 0, so that each is a plan of its own; 0 for a row with an id."""
    seen: Counter[bytes] = Counter()
    numbers = []
    for row in rows:
        content = row.content() if row.given_id is None else b""
        numbers.append(seen[content] if content else 0)
        seen[content] += 1
    return numbers
