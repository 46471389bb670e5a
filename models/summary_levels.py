"""Older versions of a summary: some are kept, and the kept versions still join without a gap."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update

from context.levels import KEEP_ALL, versions_to_thin
from models.session import Transaction
from models.summary import Summary, SummaryState


def thin_summaries(db: Transaction, tenant_id: UUID, session_id: str) -> int:
    """Delete the versions no longer kept, in the transaction that stored the newest version.

    The version in force, a version prepared on top, and the base of the newest version always stay. A version
    with a deleted base is given the base's base and everything added by the base: so a reader gets from any
    version
    down to the first message, and every message is in exactly one step. The caller holds the session's row.

    Returns:
        Number of deleted versions.
    """
    return _delete(db, tenant_id, session_id, _thinned)


def keep_newest(db: Transaction, tenant_id: UUID, session_id: str, *, most: int) -> int:
    """Delete the versions behind the newest versions, with the care of `thin_summaries`.

    The caller holds the session's row, so that no version is put in force meanwhile.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session_id: The session.
        most: Number of kept versions, >= 1; the always kept versions may be more.

    Returns:
        Number of deleted versions.
    """
    return _delete(db, tenant_id, session_id, lambda rows: set(sorted(rows)[:-most]))


Rows = Mapping[int, Any]


def _delete(db: Transaction, tenant_id: UUID, session_id: str, choose: Callable[[Rows], set[int]]) -> int:
    of_session = (Summary.tenant_id == tenant_id, Summary.session_id == session_id)
    columns = (Summary.version, Summary.state, Summary.base_version, Summary.covered_tokens)
    rows = {row.version: row for row in db.execute(select(*columns).where(*of_session))}
    gone = choose(rows) - _always_kept(rows)
    if not gone:
        return 0
    for row in rows.values():
        if row.version not in gone and row.base_version in gone:
            base, covered = _joined(row, rows, gone)
            db.execute(
                update(Summary)
                .where(*of_session, Summary.version == row.version)
                .values(base_version=base, covered_tokens=covered)
            )
    db.execute(delete(Summary).where(*of_session, Summary.version.in_(gone)))
    return len(gone)


def _thinned(rows: Rows) -> set[int]:
    newest = max(rows, default=0)
    refused = {version for version, row in rows.items() if row.state == SummaryState.REJECTED}
    gone = {version for version in refused if newest - version >= KEEP_ALL}
    return gone | set(versions_to_thin(rows.keys() - refused))


def _always_kept(rows: Rows) -> set[int]:
    active = [version for version, row in rows.items() if row.state == SummaryState.ACTIVE]
    ahead = {
        version
        for version, row in rows.items()
        if row.state == SummaryState.PREPARED and version > max(active, default=0)
    }
    base = rows[max(rows)].base_version if rows else None
    return {*ahead, *active, *([] if base is None else [base])}


def _joined(row: Any, rows: Rows, gone: set[int]) -> tuple[int | None, int]:
    """Skip the deleted bases. Returns the first remaining base, and the tokens covered beyond the base."""
    base, covered = row.base_version, row.covered_tokens
    while base in gone:
        covered += rows[base].covered_tokens
        base = rows[base].base_version
    return base, covered


def added_ranges(summaries: Sequence[Summary]) -> dict[int, tuple[int, int]]:
    """Compute the messages added by each version to the base.

    Args:
        summaries: All versions of a session.

    Returns:
        First and last message, by version.
    """
    ends = {summary.version: summary.to_seq for summary in summaries}
    return {
        summary.version: (ends.get(summary.base_version or 0, summary.from_seq - 1) + 1, summary.to_seq)
        for summary in summaries
    }
