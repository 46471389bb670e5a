"""Rotate keys: seal stored text anew, and count a tenant's text by its keys."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import func, select, text, update

from context.focus import normalise
from models.artifacts.plan import drop_other_questions
from models.artifacts.sealing import MARK_OF_KEYED, stored_key
from models.artifacts.summary import SummaryKey, open_focus, seal_focus, text_row
from models.conversations.session import lock_existing
from models.database import Transaction
from models.due_work.queue import WorkKind, enqueue
from models.encryption.cipher import WrappedTextKey, delete_key, find_uncleared, seals
from models.encryption.keys import (
    NO_KEY,
    TextCipher,
    TextForgottenError,
    TextUnavailableError,
    keep_no_longer,
    unwrap,
    wrap,
)
from models.encryption.settings import text_settings
from models.erasure.derived import rewind_index
from models.rekeying.columns import (
    COLUMNS,
    Form,
    TextColumn,
    change_cells,
    count_cells,
    drop_other_parts,
    find_stale_indexes,
    mark_index,
    open_cell,
    sealed_page,
)
from models.scope import Scope
from models.shadow.reads import lapse_sealed_reads
from models.tenants.tenant import Tenant

_PARTS = tuple(SummaryKey.__dataclass_fields__)
_IS_ROW = " and ".join(f"{name} = :{name}" for name in _PARTS)

_FIND = text(
    f"""
    select {", ".join(_PARTS)}, focus, terms, text as content from artifact_summary
    where tenant_id = :tenant_id and focus_key <> 'general'
        and starts_with(focus_key, '{MARK_OF_KEYED}') = :keyed
    limit :most for update skip locked
    """  # noqa: S608 (names of our own)
)
_DROP = text(f"delete from artifact_summary where tenant_id = :tenant_id and {_IS_ROW}")  # noqa: S608
_MOVE = text(
    f"""
    update artifact_summary set focus_key = :new_key, focus = :focus, terms = :terms, text = :content
    where tenant_id = :tenant_id and {_IS_ROW} and not exists (
        select from artifact_summary as other where other.tenant_id = :tenant_id
            and other.focus_key = :new_key and other.artifact_id = :artifact_id and other.model = :model
            and other.prompt_version = :prompt_version and other.size_class = :size_class
            and other.language = :language)
    """  # noqa: S608
)
"""If an equal entry was requested meanwhile, the new entry stays."""


def rekey_readings(scope: Scope, *, to: Literal["sealed", "plain"], most: int) -> int:
    """Change some entries of the focus cache to the other kind of key, and seal the words for the new cell.

    Returns:
        Number of entries; fewer than `most` when no unlocked entry is left.

    Raises:
        TextUnavailableError: The tenant's key is not available; nothing was changed.
    """
    cells = scope.cells
    asked = {"keyed": to == "plain", "most": most}
    rows = scope.execute(_FIND, **asked).mappings().all()
    for row in rows:
        old = SummaryKey(**{name: row[name] for name in _PARTS})
        place = {**old.__dict__}
        if not scope.execute(_MOVE, **place, **_moved(cells, old, row, to)).rowcount:
            scope.execute(_DROP, **place)
    return len(rows)


def _moved(cells: TextCipher, old: SummaryKey, row: Any, to: str) -> dict[str, Any]:
    focus, terms = open_focus(cells, old, row["focus"], row["terms"])
    content = cells.open_if("artifact_summary.text", row["content"], *text_row(old))
    named = old.focus_key if to == "sealed" else normalise(focus).key
    new = SummaryKey(**{**old.__dict__, "focus_key": stored_key(cells, named)})
    return {
        "new_key": new.focus_key,
        **seal_focus(cells, new, focus, terms),
        "content": cells.seal_if("artifact_summary.text", content, *text_row(new)),
    }


AT_ONCE = 200
"""Number of rows in a transaction: locked for some milliseconds."""

Transactions = Callable[[], AbstractContextManager[Transaction]]


def rotate_keys(transactions: Transactions, *, most: int = AT_ONCE) -> Iterator[int]:
    """Wrap every tenant's key with the first master key; no text is touched.

    The work runs in short transactions: stopped anywhere, every key opens, and the next call goes on. Readers
    and writers of text do not wait.

    Args:
        transactions: Opens a transaction.
        most: Number of keys in a transaction, >= 1.

    Yields:
        Number of newly wrapped keys, after each transaction.

    Raises:
        TextUnavailableError: A key does not open with the available master keys; the transaction changed
            nothing.
    """
    changed = most
    while changed == most:
        with transactions() as db:
            changed = _rotate_some(db, most)
        if changed:
            yield changed


def _rotate_some(db: Transaction, most: int) -> int:
    first = next(iter(text_settings().masters), "")
    old = db.execute(
        select(WrappedTextKey.tenant_id, WrappedTextKey.master_id, WrappedTextKey.wrapped)
        .where(WrappedTextKey.master_id != first)
        .order_by(WrappedTextKey.tenant_id)
        .limit(most)
        .with_for_update()
    ).all()
    for row in old:
        master_id, wrapped = wrap(row.tenant_id, unwrap(row.tenant_id, row.master_id, row.wrapped))
        db.execute(
            update(WrappedTextKey)
            .where(WrappedTextKey.tenant_id == row.tenant_id)
            .values(master_id=master_id, wrapped=wrapped, wrapped_at=func.now())
        )
    return len(old)


def change_rows(
    transactions: Transactions, tenant_id: UUID, *, to: Literal["sealed", "plain"], most: int = AT_ONCE
) -> Iterator[tuple[str, int]]:
    """Seal or open all rows of a tenant in short transactions; stopped anywhere, a later call goes on.

    Recall indexes begin anew with the other hashing of terms: recall finds less until the indexes are made
    again, as requested in the same transaction.

    Args:
        transactions: Opens a transaction.
        tenant_id: The tenant of the rows.
        to: New form of the rows.
        most: Number of rows in a transaction, >= 1.

    Yields:
        Changed column and number of rows, after each transaction.

    Raises:
        ValueError: New rows are written the other way, so that the work would not end.
        TextUnavailableError: The tenant's key is not available.
    """
    if (to == "sealed") is not seals():
        raise ValueError(f"rows become {to} only where new ones do")
    while sessions := _rewind(transactions, tenant_id, keyed=to == "sealed", most=most):
        yield "recall index", sessions
    with transactions() as db:
        scope = Scope(db, tenant_id)
        drop_other_parts(scope, sealed=to == "sealed")
        if to == "plain":
            lapse_sealed_reads(scope)
    yield from _rekey(transactions, tenant_id, to=to, most=most)
    for column in COLUMNS:
        changed = most
        while changed == most:
            with transactions() as db:
                changed = change_cells(Scope(db, tenant_id), column, to=to, most=most)
            if changed:
                yield column.cell, changed


def _rekey(
    transactions: Transactions, tenant_id: UUID, *, to: Literal["sealed", "plain"], most: int
) -> Iterator[tuple[str, int]]:
    """Move entries to the other kind of key; plans for a context are deleted and made again."""
    with transactions() as db:
        drop_other_questions(Scope(db, tenant_id), keyed=to == "sealed")
    changed = most
    while changed == most:
        with transactions() as db:
            changed = rekey_readings(Scope(db, tenant_id), to=to, most=most)
        if changed:
            yield "artifact_summary.focus_key", changed


def _rewind(transactions: Transactions, tenant_id: UUID, *, keyed: bool, most: int) -> int:
    with transactions() as db:
        scope = Scope(db, tenant_id)
        sessions = find_stale_indexes(scope, keyed=keyed, most=most)
        lock_existing(scope, sorted(sessions))
        for session_id in sessions:
            rewind_index(scope, session_id, from_seq=1)
            mark_index(scope, session_id, keyed=keyed)
            enqueue(scope, WorkKind.RECALL, session_id)
    return len(sessions)


def forget_text_key(scope: Scope) -> bool:
    """Delete a tenant's key: sealed text is lost, except in backups with the key. False without a key."""
    keep_no_longer(scope.tenant_id)
    return delete_key(scope.db, scope.tenant_id)


def list_text_tenants(db: Transaction) -> list[tuple[UUID, str, str | None]]:
    """List every tenant with the name and the master key of the tenant's key."""
    rows = db.execute(
        select(Tenant.tenant_id, Tenant.name, WrappedTextKey.master_id)
        .outerjoin(WrappedTextKey, WrappedTextKey.tenant_id == Tenant.tenant_id)
        .order_by(Tenant.name)
    )
    return [(row[0], row[1], row[2]) for row in rows]


CELLS_AT_ONCE = 1_000
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
    scope: Scope, columns: Sequence[TextColumn], *, by_opening: bool = False
) -> dict[str, CountedCells]:
    """Count the cells of columns, by column.

    Without the tenant's key no sealed text can be read. With the key, each cell is tried only if some cells
    may belong to a forgotten key, since a trial reads all cells. Digests hold no text, and count as readable.

    Args:
        scope: The transaction and its tenant.
        columns: The columns.
        by_opening: True to try each cell in any case.
    """
    cells = scope.cells
    by_opening = by_opening or bool(find_uncleared(scope.db, scope.tenant_id))
    counted = {}
    for column in columns:
        sealed, plain = count_cells(scope, column)
        lost = Counter[Unreadable]()
        if sealed and column.form is not Form.DIGEST:
            why = _why_none(cells)
            lost = Counter({why: sealed}) if why else _tried(scope.db, cells, column) if by_opening else lost
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
        page = sealed_page(Scope(db, cells.tenant_id), column, after=after, most=CELLS_AT_ONCE)
        for row in page:
            try:
                open_cell(cells, column, row)
            except TextUnavailableError as error:
                lost[_why(error)] += 1
        if len(page) < CELLS_AT_ONCE:
            return lost
        after = [page[-1][name] for name in column.key]


def _why(error: TextUnavailableError) -> Unreadable:
    if isinstance(error, TextForgottenError):
        return Unreadable.FORGOTTEN
    return Unreadable.NOT_HERE if error.message == NO_KEY else Unreadable.BROKEN
