"""Rows of plans for files: intent, tools, outcomes and time, in JSON and in cells of a table."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from context.errors import InvalidInputError
from context.text.cut import one_line
from context.text.sanitize import MAX_TOOL_NAME_CHARS, clean_text, id_fault
from context.tool_plans.outcomes import Outcome
from context.tool_plans.prompt import ToolStep
from context.types import JsonObject

COLUMNS = ("id", "at", "user_id", "catalog", "intent", "tools", "outcome")
"""Names of the values of a row, in the order of the columns of a table."""

MAX_INTENT_CHARS = 100_000
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
        intent=_intent(values.get("intent")),
        tools=tools,
        outcomes=_outcomes(values.get("outcome"), len(tools)),
        at=_time(values.get("at"), now),
        catalog=_id(values, "catalog"),
        user_id=_id(values, "user_id"),
        given_id=_id(values, "id"),
    )


def _intent(value: object) -> str:
    if not isinstance(value, str) or not clean_text(value).strip():
        raise InvalidInputError("intent", "must be a text that says something")
    if len(value) > MAX_INTENT_CHARS:
        raise InvalidInputError("intent", f"must have at most {MAX_INTENT_CHARS:,} characters")
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
