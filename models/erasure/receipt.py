"""Effects of an erasure or edit: rows by table, and the work requested again."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from models.due_work.queue import WorkKind

PRIMARY = frozenset({"session", "turn", "message", "artifact", "artifact_use", "artifact_attachment"})
"""Tables with data sent by people and platforms; other tables hold derived data or data about the primary."""


@dataclass
class Receipt:
    """A receipt, filled during a transaction.

    Attributes:
        rows: Number of deleted or anonymized rows, by table.
        asked: The work requested again, each piece once.
    """

    rows: Counter[str] = field(default_factory=Counter)
    asked: set[tuple[WorkKind, str]] = field(default_factory=set)

    def count(self, table: str, rows: int) -> None:
        """Count rows of a table."""
        if rows:
            self.rows[table] += rows

    def add(self, other: "Receipt") -> None:
        """Add another receipt."""
        self.rows += other.rows
        self.asked |= other.asked

    @property
    def is_empty(self) -> bool:
        """True when nothing was changed."""
        return not (self.rows or self.asked)

    def as_json(self) -> dict[str, Any]:
        """Return the receipt as JSON for the answer, tables ordered by name."""
        ordered = sorted(self.rows.items())
        return {
            "removed": {table: rows for table, rows in ordered if table in PRIMARY},
            "invalidated": {table: rows for table, rows in ordered if table not in PRIMARY},
            "requeued": len(self.asked),
        }
