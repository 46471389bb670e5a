"""Words of a plan, as stored in the row and as read."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping

from models.text_keys import Cells
from models.text_settings import seals

_TEXTS = frozenset({"intent", "context", "gap_warning", "failure_detail"})
_VALUES = frozenset({"features", "steps"})


def seal_plan(cells: Cells, plan_id: UUID, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Seal columns of a plan's row for storing.

    Args:
        cells: Cells of the plan's tenant.
        plan_id: The plan.
        columns: Columns by name; columns without anybody's words stay unchanged.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    return {name: _seal(cells, plan_id, name, value) for name, value in columns.items()}


def _seal(cells: Cells, plan_id: UUID, name: str, value: Any) -> Any:
    if name in _TEXTS:
        return cells.seal_if(f"plan_history.{name}", value, plan_id)
    if name in _VALUES:
        return cells.seal_json(f"plan_history.{name}", value, plan_id)
    return cells.digest(value) if name == "intent_sha" else value


def seal_written(cells: Cells, plan_id: UUID, name: str, written: str) -> str:
    """Seal a column of already written JSON as a JSON string."""
    return json.dumps(cells.seal(f"plan_history.{name}", written, plan_id)) if seals() else written


def open_plan(cells: Cells, plan_id: UUID, columns: Mapping[str, Any] | RowMapping) -> dict[str, Any]:
    """Decrypt columns of a plan's row; the hash of the intent stays as stored.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    return {str(name): _open(cells, plan_id, str(name), value) for name, value in columns.items()}


def _open(cells: Cells, plan_id: UUID, name: str, value: Any) -> Any:
    if name in _TEXTS:
        return cells.open_if(f"plan_history.{name}", value, plan_id)
    return cells.open_json(f"plan_history.{name}", value, plan_id) if name in _VALUES else value
