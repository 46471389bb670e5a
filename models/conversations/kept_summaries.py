"""Kept summaries of a session: parts, levels, thinned versions, and marks of a rollback."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import ForeignKeyConstraint, Text, delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Mapped, aliased, mapped_column

from context.summary.trigger import KEEP_ALL, versions_to_thin
from models.base import SESSION_KEY, Base, CreatedAt, TenantPart
from models.conversations.session import Session
from models.conversations.summary import Summary, SummaryState
from models.scope import Scope


def is_rolled_back(scope: Scope, session_id: str) -> bool:
    """Check whether an earlier version was put in force again after the last turn.

    Until the next turn, a new summary of the same messages would only undo the rollback.
    """
    active, newer = aliased(Summary), aliased(Summary)
    found = (
        select(newer.version)
        .select_from(Session)
        .join(active, (active.tenant_id == Session.tenant_id) & (active.session_id == Session.session_id))
        .join(newer, (newer.tenant_id == Session.tenant_id) & (newer.session_id == Session.session_id))
        .where(
            Session.tenant_id == scope.tenant_id,
            Session.session_id == session_id,
            active.state == SummaryState.ACTIVE,
            active.generation == Session.generation,
            active.activated_at > Session.last_turn_at,
            newer.generation == Session.generation,
            newer.version > active.version,
            newer.state == SummaryState.SUPERSEDED,
            newer.activated_at < active.activated_at,
        )
        .limit(1)
    )
    return scope.db.execute(found).one_or_none() is not None


def thin_summaries(scope: Scope, session_id: str) -> int:
    """Delete the versions no longer kept, in the transaction that stored the newest version.

    The version in force, a version prepared on top, and the base of the newest version always stay. A version
    with a deleted base is given the base's base and everything added by the base: so a reader gets from any
    version
    down to the first message, and every message is in exactly one step. The caller holds the session's row.

    Returns:
        Number of deleted versions.
    """
    return _delete(scope, session_id, _thinned)


def keep_newest(scope: Scope, session_id: str, *, most: int) -> int:
    """Delete the versions behind the newest versions, with the care of `thin_summaries`.

    The caller holds the session's row, so that no version is put in force meanwhile.

    Args:
        scope: The transaction and its tenant.
        session_id: The session.
        most: Number of kept versions, >= 1; the always kept versions may be more.

    Returns:
        Number of deleted versions.
    """
    return _delete(scope, session_id, lambda rows: set(sorted(rows)[:-most]))


Rows = Mapping[int, Any]


def _delete(scope: Scope, session_id: str, choose: Callable[[Rows], set[int]]) -> int:
    of_session = (Summary.tenant_id == scope.tenant_id, Summary.session_id == session_id)
    columns = (Summary.version, Summary.state, Summary.base_version, Summary.covered_tokens)
    rows = {row.version: row for row in scope.db.execute(select(*columns).where(*of_session))}
    gone = choose(rows) - _always_kept(rows)
    if not gone:
        return 0
    for row in rows.values():
        if row.version not in gone and row.base_version in gone:
            base, covered = _joined(row, rows, gone)
            scope.db.execute(
                update(Summary)
                .where(*of_session, Summary.version == row.version)
                .values(base_version=base, covered_tokens=covered)
            )
    scope.db.execute(delete(Summary).where(*of_session, Summary.version.in_(gone)))
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


class SummaryPart(Base):
    """A finished chunk of a summary under way: after a crash, work resumes behind the chunk."""

    __tablename__ = "summary_part"
    __table_args__ = (ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),)

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    input_sha256: Mapped[bytes] = mapped_column(primary_key=True)
    text: Mapped[str]
    tokens: Mapped[int]
    created_at: Mapped[CreatedAt]


def find_part(scope: Scope, session_id: str, input_sha256: bytes) -> str | None:
    """Find the text made earlier of the same input; returns None without a text."""
    cells = scope.cells
    row = scope.db.execute(
        select(SummaryPart.input_sha256, SummaryPart.text).where(
            SummaryPart.tenant_id == scope.tenant_id,
            SummaryPart.session_id == session_id,
            SummaryPart.input_sha256.in_(cells.digests(input_sha256)),
        )
    ).first()
    return cells.open("summary_part.text", row.text, session_id, row.input_sha256.hex()) if row else None


def keep_part(scope: Scope, session_id: str, input_sha256: bytes, *, content: str, tokens: int) -> None:
    """Store a finished chunk; a second chunk of the same input changes nothing."""
    cells = scope.cells
    digest = cells.digest(input_sha256)
    row = upsert(SummaryPart).values(
        tenant_id=scope.tenant_id,
        session_id=session_id,
        input_sha256=digest,
        text=cells.seal("summary_part.text", content, session_id, digest.hex()),
        tokens=tokens,
    )
    scope.db.execute(row.on_conflict_do_nothing())


def drop_parts(scope: Scope, session_id: str) -> int:
    """Delete the chunks of a session: the summary is done, or no longer wanted. Returns the chunk count."""
    return scope.db.execute(
        delete(SummaryPart).where(
            SummaryPart.tenant_id == scope.tenant_id, SummaryPart.session_id == session_id
        )
    ).rowcount
