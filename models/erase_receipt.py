"""What erasing or editing did: rows by table, and the work that was asked for again."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from models.work import WorkKind


@dataclass
class Receipt:
    """A receipt, filled while its transaction goes on.

    Attributes:
        removed: What people and platforms had stored and is gone, in rows by table.
        invalidated: What was made of it and is gone or no longer says whose it was, in rows by table.
        asked: The work that was asked for again, each once.
    """

    removed: Counter[str] = field(default_factory=Counter)
    invalidated: Counter[str] = field(default_factory=Counter)
    asked: set[tuple[WorkKind, str]] = field(default_factory=set)

    def remove(self, table: str, rows: int) -> None:
        """Count rows that are gone."""
        if rows:
            self.removed[table] += rows

    def invalidate(self, table: str, rows: int) -> None:
        """Count rows that were made of what is gone."""
        if rows:
            self.invalidated[table] += rows

    def add(self, other: "Receipt") -> None:
        """Take in another receipt."""
        self.removed += other.removed
        self.invalidated += other.invalidated
        self.asked |= other.asked

    @property
    def is_empty(self) -> bool:
        """Whether nothing was there to be changed."""
        return not (self.removed or self.invalidated or self.asked)

    def as_json(self) -> dict[str, Any]:
        """The receipt as it is answered, tables in the order of their names."""
        return {
            "removed": dict(sorted(self.removed.items())),
            "invalidated": dict(sorted(self.invalidated.items())),
            "requeued": len(self.asked),
        }
