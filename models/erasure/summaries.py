"""Summaries of changed messages: deleted, and replaced by the newest summary without the messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update

from models.conversations.kept_summaries import drop_parts
from models.conversations.session import Session
from models.conversations.session_state import NOTHING_IN_FORCE, SessionState
from models.conversations.summary import Summary, SummaryState, activate_version, drop_prepared
from models.database import Transaction


@dataclass(frozen=True)
class LostSummaries:
    """Effects on a session's summaries.

    Attributes:
        versions: Number of deleted versions.
        parts: Number of deleted finished chunks.
        replaced: True if the summary in force was deleted.
    """

    versions: int
    parts: int
    replaced: bool


def drop_summaries(
    db: Transaction, tenant_id: UUID, before: SessionState, *, generation: int, seqs: Sequence[int]
) -> LostSummaries:
    """Delete every version that covers a changed message or builds on such a version, in any state.

    The other versions move to the session's new generation. If the version in force is deleted, the newest
    remaining base takes over; without any base, history is raw. The caller holds the session's row, has
    changed the
    messages, and has raised the generation.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        before: The session's state before.
        generation: The session's new generation.
        seqs: The changed messages.
    """
    of_session = (Summary.tenant_id == tenant_id, Summary.session_id == before.session_id)
    columns = (Summary.version, Summary.state, Summary.base_version, Summary.from_seq, Summary.to_seq)
    rows = {row.version: row for row in db.execute(select(*columns).where(*of_session))}
    gone = _gone(rows, seqs)
    active = next((row for row in rows.values() if row.state == SummaryState.ACTIVE), None)
    parts = drop_parts(db, tenant_id, before.session_id)
    db.execute(delete(Summary).where(*of_session, Summary.version.in_(gone)))
    db.execute(
        update(Summary)
        .where(*of_session, Summary.generation == before.generation)
        .values(generation=generation)
    )
    if any(rows[version].state == SummaryState.PREPARED for version in gone):
        drop_prepared(db, tenant_id, before.session_id)
    replaced = active is not None and active.version in gone
    if active is not None and replaced:
        _replace(db, tenant_id, before.session_id, _heir(active.version, rows, gone))
    return LostSummaries(len(gone), parts, replaced)


def _gone(rows: Mapping[int, Any], seqs: Sequence[int]) -> set[int]:
    gone = {
        version for version, row in rows.items() if any(row.from_seq <= seq <= row.to_seq for seq in seqs)
    }
    for version in sorted(rows):
        if rows[version].base_version in gone:
            gone.add(version)
    return gone


def _heir(version: int, rows: Mapping[int, Any], gone: set[int]) -> int | None:
    """Find the newest remaining base of the version in force."""
    base = rows[version].base_version
    while base in gone:
        base = rows[base].base_version
    return base if base in rows else None


def _replace(db: Transaction, tenant_id: UUID, session_id: str, heir: int | None) -> None:
    if heir is not None and activate_version(db, tenant_id, session_id, heir):
        return
    db.execute(
        update(Session)
        .where(Session.tenant_id == tenant_id, Session.session_id == session_id)
        .values(NOTHING_IN_FORCE)
    )
