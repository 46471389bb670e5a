"""Start of a context request: a session, the summary in force and the due work, in one query."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, bindparam, case, distinct, func, select
from sqlalchemy.orm import aliased

from context.tokens.budget import Budget
from models.artifacts.use import ArtifactUse
from models.conversations.compactions import (
    CompactedWindow,
    StoredCompaction,
    has_compaction,
    load_compactions,
)
from models.conversations.session import STATE_COLUMNS, Session
from models.conversations.session_state import SessionState
from models.conversations.summary import TEXT_COLUMNS, Summary, SummaryState, SummaryText, read_summary
from models.database import Transaction
from models.due_work.queue import DueWork, WorkKind, WorkState
from models.encryption.keys import TextCipher
from models.providers.context_limit import limit_of, names_of


@dataclass(frozen=True)
class SessionSnapshot:
    """Progress of a session's preparation.

    Attributes:
        session: The session's row.
        summary: The summary in force, if any.
        due_at: Due time of the pending summary work; None without pending work.
        now: The database's clock.
        tried_at: Last end of the summary work; None before the first end.
        learned_limit: The model's real window, in tokens; None when no refusal told the window.
        pending: Pieces of work due or under way for the session and for the results of the newest turns.
        compactions: The stored compactions of providers since the last reset, newest first.
        compacted: The provider's compacted window in force for a request, in place of a summary; else None.
    """

    session: SessionState
    summary: SummaryText | None
    due_at: datetime | None
    now: datetime
    tried_at: datetime | None = None
    learned_limit: int | None = None
    pending: int = 0
    compactions: Sequence[StoredCompaction] = ()
    compacted: CompactedWindow | None = None

    @property
    def idle_s(self) -> float | None:
        """Seconds since the last turn came in; None before the first turn."""
        last = self.session.last_turn_at
        return max((self.now - last).total_seconds(), 0.0) if last else None

    @property
    def is_tried(self) -> bool:
        """True when the work ended after the last turn came in: the inputs have not changed since."""
        last = self.session.last_turn_at
        return self.tried_at is not None and (last is None or self.tried_at >= last)

    @property
    def budget(self) -> Budget:
        """Window of the session's last request, no larger than the model's real window."""
        return self.session.budget_within(self.learned_limit)

    @property
    def oldest_due_age_s(self) -> float | None:
        """Seconds since the work became due; None without pending work."""
        return max((self.now - self.due_at).total_seconds(), 0.0) if self.due_at else None


NEWEST_MESSAGES = 64
"""Large results among this number of newest messages count as results of the newest turns."""

_LIVE = (WorkState.READY, WorkState.RUNNING)


def _own_work() -> ColumnElement[int]:
    """Count the session's own work due or under way."""
    work = aliased(DueWork)
    return (
        select(func.count())
        .where(
            work.tenant_id == Session.tenant_id,
            work.kind.in_([WorkKind.SUMMARIZE, WorkKind.RECALL]),
            work.key == Session.session_id,
            work.state.in_(_LIVE),
        )
        .correlate(Session)
        .scalar_subquery()
    )


def _artifact_work() -> ColumnElement[int]:
    """Count the work for large results of the newest messages."""
    work = aliased(DueWork)
    return (
        select(func.count(distinct(work.key)))
        .select_from(ArtifactUse)
        .join(
            work,
            and_(
                work.tenant_id == ArtifactUse.tenant_id,
                work.kind == WorkKind.ARTIFACT,
                work.key == ArtifactUse.artifact_id,
                work.state.in_(_LIVE),
            ),
        )
        .where(
            ArtifactUse.tenant_id == Session.tenant_id,
            ArtifactUse.session_id == Session.session_id,
            ArtifactUse.seq > Session.last_seq - NEWEST_MESSAGES,
        )
        .correlate(Session)
        .scalar_subquery()
    )


STANDING_QUERY = (
    select(
        *STATE_COLUMNS,
        *TEXT_COLUMNS,
        case((DueWork.state.in_([WorkState.READY, WorkState.RUNNING]), DueWork.due_at)),
        func.now(),
        DueWork.finished_at,
        limit_of(Session.tenant_id, Session.session_id),
        _own_work() + _artifact_work(),
        has_compaction(Session),
    )
    .join(
        Summary,
        and_(
            Summary.tenant_id == Session.tenant_id,
            Summary.session_id == Session.session_id,
            Summary.generation == Session.generation,
            Summary.state == SummaryState.ACTIVE,
        ),
        isouter=True,
    )
    .join(
        DueWork,
        and_(
            DueWork.tenant_id == Session.tenant_id,
            DueWork.kind == WorkKind.SUMMARIZE,
            DueWork.key == Session.session_id,
        ),
        isouter=True,
    )
    .where(Session.tenant_id == bindparam("tenant_id"), Session.session_id == bindparam("session_id"))
)

"""A session's row, its summary in force and its due work; see `read_standing`."""

_LAST_MODEL = select(Session.model).where(
    Session.tenant_id == bindparam("tenant_id"), Session.session_id == bindparam("session_id")
)


def find_standing(
    db: Transaction, tenant_id: UUID, session_id: str, model: str | None = None
) -> SessionSnapshot | None:
    """Find a session's standing; returns None when no turn of the session was ever accepted.

    The limit is the limit of `model`, or of the model that answered last, for this session.
    """
    asked = {"tenant_id": tenant_id, "session_id": session_id}
    if model is None:
        model = db.execute(_LAST_MODEL, asked).scalar_one_or_none()
    row = db.execute(STANDING_QUERY, {**asked, **names_of(model)}).one_or_none()
    return None if row is None else read_standing(db, tenant_id, session_id, row)


def read_standing(db: Transaction, tenant_id: UUID, session_id: str, row: Sequence[Any]) -> SessionSnapshot:
    """Read a row of `STANDING_QUERY`; the compactions of a session with such are loaded besides."""
    split, end = len(STATE_COLUMNS), len(STATE_COLUMNS) + len(TEXT_COLUMNS)
    session, summary = SessionState(*row[:split]), row[split:end]
    *facts, has_compactions = row[end:]
    found = None if summary[0] is None else read_summary(TextCipher(db, tenant_id), session_id, summary)
    after_seq = session.start_seq
    compactions = load_compactions(db, tenant_id, session_id, after_seq=after_seq) if has_compactions else []
    return replace(SessionSnapshot(session, found, *facts), compactions=compactions)
