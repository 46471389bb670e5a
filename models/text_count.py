"""Count of a tenant's stored text: sealed, unreadable with the reason, and plain."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from models.session import Transaction
from models.text_columns import Form, TextColumn, count_cells, open_cell, sealed_page
from models.text_forgotten import find_uncleared
from models.text_keys import NO_KEY, Cells, TextForgottenError, TextUnavailableError

AT_ONCE = 1_000
"""Number of cells in memory at a time."""


class Unreadable(StrEnum):
    """Reason for an unreadable sealed text."""

    FORGOTTEN = "key forgotten"
    NOT_HERE = "key not here"
    BROKEN = "does not open"


@dataclass(frozen=True)
class CountedCells:
    """Cells of a column.

    Attributes:
        sealed: Number of readable sealed cells.
        unreadable: Number of unreadable sealed cells, by reason.
        plain: Number of plain cells.
    """

    sealed: int
    plain: int
    unreadable: Mapping[Unreadable, int] = field(default_factory=dict)


def count_text(
    db: Transaction, tenant_id: UUID, columns: Sequence[TextColumn], *, by_opening: bool = False
) -> dict[str, CountedCells]:
    """Count the cells of columns, by column.

    Without the tenant's key no sealed text can be read. With the key, each cell is tried only if some cells
    may belong to a forgotten key, since a trial reads all cells. Digests hold no text, and count as readable.

    Args:
        db: A transaction.
        tenant_id: The tenant of the text.
        columns: The columns.
        by_opening: True to try each cell in any case.
    """
    cells = Cells(db, tenant_id)
    by_opening = by_opening or bool(find_uncleared(db, tenant_id))
    counted = {}
    for column in columns:
        sealed, plain = count_cells(db, tenant_id, column)
        lost = Counter[Unreadable]()
        if sealed and column.form is not Form.DIGEST:
            why = _why_none(cells)
            lost = Counter({why: sealed}) if why else _tried(db, cells, column) if by_opening else lost
        counted[column.cell] = CountedCells(sealed - lost.total(), plain, lost)
    return counted


def _why_none(cells: Cells) -> Unreadable | None:
    """Find the reason for the missing key; returns None with a key."""
    try:
        cells.reading_key()
    except TextUnavailableError as error:
        return _why(error)
    return None


def _tried(db: Transaction, cells: Cells, column: TextColumn) -> Counter[Unreadable]:
    lost, after = Counter[Unreadable](), list[Any]()
    while True:
        page = sealed_page(db, cells.tenant_id, column, after=after, most=AT_ONCE)
        for row in page:
            try:
                open_cell(cells, column, row)
            except TextUnavailableError as error:
                lost[_why(error)] += 1
        if len(page) < AT_ONCE:
            return lost
        after = [page[-1][name] for name in column.key]


def _why(error: TextUnavailableError) -> Unreadable:
    if isinstance(error, TextForgottenError):
        return Unreadable.FORGOTTEN
    return Unreadable.NOT_HERE if error.message == NO_KEY else Unreadable.BROKEN
