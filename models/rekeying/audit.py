"""Count a tenant's stored text by its keys: sealed, plain, unreadable."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import text

from models.database import Transaction
from models.encryption.forgotten import find_uncleared
from models.encryption.keys import NO_KEY, TextCipher, TextForgottenError, TextUnavailableError, unwrap
from models.rekeying.columns import Form, TextColumn, count_cells, open_cell, sealed_page

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
    cells = TextCipher(db, tenant_id)
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


def _why_none(cells: TextCipher) -> Unreadable | None:
    """Find the reason for the missing key; returns None with a key."""
    try:
        cells.reading_key()
    except TextUnavailableError as error:
        return _why(error)
    return None


def _tried(db: Transaction, cells: TextCipher, column: TextColumn) -> Counter[Unreadable]:
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


_BY_MASTER = text(
    """
    select held.master_id, held.tenants, key.tenant_id, key.wrapped
    from (select master_id, count(*) as tenants, min(tenant_id::text)::uuid as one from text_key group by 1)
        as held
    join text_key as key on key.tenant_id = held.one
    order by held.master_id
    """
)


def find_masters(db: Transaction) -> dict[str, tuple[int, bool]]:
    """Find the master keys of the stored tenant keys.

    Args:
        db: A connection with access to every tenant.

    Returns:
        {master key id: (number of wrapped tenant keys, True if this process opens the keys)}, tested with a
        single tenant key.
    """
    rows = db.execute(_BY_MASTER).all()
    return {row.master_id: (row.tenants, _opens(row)) for row in rows}


def find_missing_masters(db: Transaction) -> list[str]:
    """List the ids of missing or wrong master keys."""
    return [master_id for master_id, (_, opens) in find_masters(db).items() if not opens]


def _opens(row: Any) -> bool:
    try:
        unwrap(row.tenant_id, row.master_id, row.wrapped)
    except TextUnavailableError:
        return False
    return True
