"""What erasing or editing did: rows by table, and the work that was asked for again."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from models.work import WorkKind

PRIMARY = frozenset({"session", "turn", "message", "artifact", "artifact_use", "artifact_attachment"})
"""Tables of what people and platforms said and sent; the others hold what is made of it, or is about it."""


@dataclass
class Receipt:
    """A receipt, filled while its transaction goes on.

    Attributes:
        rows: How many rows of each table are gone, or no longer say whose they are.
        asked: The work that was asked for again, each once.
    """

    rows: Counter[str] = field(default_factory=Counter)
    asked: set[tuple[WorkKind, str]] = field(default_factory=set)

    def count(self, table: str, rows: int) -> None:
        """Count rows of a table."""
        if rows:
            self.rows[table] += rows

    def add(self, other: "Receipt") -> None:
        """Take in another receipt."""
        self.rows += other.rows
        self.asked |= other.asked

    @property
    def is_empty(self) -> bool:
        """Whether nothing was there to be changed."""
        return not (self.rows or self.asked)

    def as_json(self) -> dict[str, Any]:
        """The receipt as it is answered, tables in the order of their names."""
        ordered = sorted(self.rows.items())
        return {
            "removed": {table: rows for table, rows in ordered if table in PRIMARY},
            "invalidated": {table: rows for table, rows in ordered if table not in PRIMARY},
            "requeued": len(self.asked),
        }
