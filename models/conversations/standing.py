"""Start of a context request: a session, the summary or compaction in force, and the due work."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, case, distinct, exists, func, select
from sqlalchemy.orm import aliased

from context.shape.target import target_of
from context.summary.trigger import Thresholds, find_trigger
from context.tokens import guarantee
from context.tokens.budget import Budget
from context.tokens.message import count_of
from context.types import Message, Wire
from context.wire.parts import cut_at_compaction, without_compaction
from models.artifacts.use import ArtifactUse
from models.conversations.history import load_messages, tokens_between
from models.conversations.log import StoredMessage, TurnRow
from models.conversations.session import STATE_COLUMNS, Session
from models.conversations.session_state import NOTHING_PREPARED, SessionState
from models.conversations.summary import TEXT_COLUMNS, Summary, SummaryState, SummaryText, read_summary
from models.due_work.queue import DueWork, WorkKind, WorkState
from models.providers.context_limit import limit_of, names_of
from models.scope import Scope

MOST_COMPACTIONS = 100
"""Newest compactions of a session looked at."""


@dataclass(frozen=True)
class StoredCompaction:
    """A stored compaction of a provider.

    Attributes:
        seq: The message with the compaction.
        window: The messages of the compacted window, in order, the message itself among them.
        wire: The format.
        model: The model that answered in the turn; None if unknown.
    """

    seq: int
    window: Sequence[int]
    wire: Wire
    model: str | None


@dataclass(frozen=True)
class CompactedWindow:
    """A provider's compacted window.

    Attributes:
        seq: The message with the compaction: everything up to the message is covered.
        messages: The messages to send, in order; of the message itself the compaction alone.
        after: The content of the message after the compaction, still raw; None for none.
    """

    seq: int
    messages: Sequence[Message]
    after: Message | None = None


def has_compaction(session: Any) -> ColumnElement[bool]:
    """Say in a query of sessions whether a session holds a compaction since its last reset."""
    return exists().where(
        StoredMessage.tenant_id == session.tenant_id,
        StoredMessage.session_id == session.session_id,
        StoredMessage.seq > session.start_seq,
        StoredMessage.compaction.is_not(None),
    )


def load_compactions(
    scope: Scope, session_id: str, *, after_seq: int, most: int | None = MOST_COMPACTIONS
) -> list[StoredCompaction]:
    """Load the compactions of a session after a message, newest first."""
    of_turn = and_(
        TurnRow.tenant_id == StoredMessage.tenant_id,
        TurnRow.session_id == StoredMessage.session_id,
        TurnRow.turn_index == StoredMessage.turn_index,
    )
    rows = scope.db.execute(
        select(StoredMessage.seq, StoredMessage.compaction, StoredMessage.wire, TurnRow.model)
        .outerjoin(TurnRow, of_turn)
        .where(
            StoredMessage.tenant_id == scope.tenant_id,
            StoredMessage.session_id == session_id,
            StoredMessage.seq > after_seq,
            StoredMessage.compaction.is_not(None),
        )
        .order_by(StoredMessage.seq.desc())
        .limit(most)
    )
    return [StoredCompaction(row[0], row[1] or [], Wire(row[2]), row[3]) for row in rows]


def find_own(
    compactions: Sequence[StoredCompaction], *, model: str, wire: Wire | None, after_seq: int
) -> StoredCompaction | None:
    """Find the newest compaction that a model's provider reads.

    Args:
        compactions: The compactions, newest first.
        model: The reading model.
        wire: The format of the request; None for any format.
        after_seq: Compactions up to this message are not sent: the provider refused them.
    """
    return next(
        (
            one
            for one in compactions
            if one.seq > after_seq
            and wire in (None, one.wire)
            and target_of(one.wire, model).reads_compaction(one.wire, one.model)
        ),
        None,
    )


def load_window(scope: Scope, session_id: str, compaction: StoredCompaction) -> CompactedWindow | None:
    """Load the messages of a compacted window; None if the compaction is gone meanwhile."""
    found = {message.seq: message for message in load_messages(scope, session_id, compaction.window)}
    cut = cut_at_compaction(found[compaction.seq]) if compaction.seq in found else None
    if cut is None:
        return None
    found[compaction.seq] = cut.item
    kept = (
        found[seq] if seq == compaction.seq else without_compaction(found[seq])
        for seq in compaction.window
        if seq in found
    )
    messages = [message for message in kept if message is not None]
    return CompactedWindow(compaction.seq, messages, cut.after)


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


def find_standing(scope: Scope, session_id: str, model: str | None = None) -> SessionSnapshot | None:
    """Find a session's standing; returns None when no turn of the session was ever accepted.

    The limit is the limit of `model`, or of the model that answered last, for this session.
    """
    asked = {"session_id": session_id}
    if model is None:
        model = scope.execute(_LAST_MODEL, **asked).scalar_one_or_none()
    row = scope.execute(STANDING_QUERY, **asked, **names_of(model)).one_or_none()
    return None if row is None else read_standing(scope, session_id, row)


def read_standing(scope: Scope, session_id: str, row: Sequence[Any]) -> SessionSnapshot:
    """Read a row of `STANDING_QUERY`; the compactions of a session with such are loaded besides."""
    split, end = len(STATE_COLUMNS), len(STATE_COLUMNS) + len(TEXT_COLUMNS)
    session, summary = SessionState(*row[:split]), row[split:end]
    *facts, has_compactions = row[end:]
    found = None if summary[0] is None else read_summary(scope.cells, session_id, summary)
    after_seq = session.start_seq
    compactions = load_compactions(scope, session_id, after_seq=after_seq) if has_compactions else []
    return replace(SessionSnapshot(session, found, *facts), compactions=compactions)


MOST_SHARE = 0.5
"""Largest share of a window for a compacted window; a larger one gives way to a summary or to raw turns."""

FITTING_SHARE = 0.9
"""Share of a window up to which a compaction and all later turns are preferred to a later summary."""


def under_compaction(
    scope: Scope,
    standing: SessionSnapshot,
    *,
    model: str,
    budget: Budget,
    wire: Wire | None = None,
) -> SessionSnapshot:
    """Put the newest compaction of the model's own provider in place of a summary.

    The compaction stands for everything up to its message. A summary that reaches further stands, unless the
    compaction and all later turns fit.

    Args:
        scope: The transaction and its tenant.
        standing: The session's state.
        model: The model of the request.
        budget: The window.
        wire: The format of the request; None for any format.

    Returns:
        The state with the compaction in force; the same state if none applies.
    """
    session = standing.session
    own = find_own(standing.compactions, model=model, wire=wire, after_seq=session.unsigned_seq)
    window = load_window(scope, session.session_id, own) if own else None
    if window is None or guarantee(count_of(window.messages), model) > budget.input_tokens * MOST_SHARE:
        return standing
    up_to = {"after_seq": session.start_seq, "up_to_seq": window.seq}
    covered = _covered(standing, window, tokens_between(scope, session.session_id, **up_to))
    load = covered.session.load
    fits = guarantee(load.raw_tokens + load.summary_tokens, model) <= budget.input_tokens * FITTING_SHARE
    return covered if fits or session.summarized_seq < window.seq else standing


def is_covered(scope: Scope, standing: SessionSnapshot, thresholds: Thresholds) -> bool:
    """Tell whether compactions cover the history, for the answering model and the model lately asked for.

    Then no summary is due: it would repeat the compaction, and no window would show it.
    """
    session, budget = standing.session, standing.budget
    models = {model for model in (session.model, session.asked_model) if model}
    if not standing.compactions or not models:
        return False
    states = [under_compaction(scope, standing, model=model, budget=budget) for model in models]
    return all(
        state.compacted and find_trigger(state.session.load, budget, thresholds) is None for state in states
    )


def _covered(standing: SessionSnapshot, window: CompactedWindow, tokens: int) -> SessionSnapshot:
    session = replace(
        standing.session,
        **NOTHING_PREPARED,
        summarized_seq=window.seq,
        summarized_tokens=tokens - (window.after.tokens if window.after else 0),
        summary_tokens=count_of(window.messages).tokens,
    )
    return replace(standing, session=session, summary=None, compacted=window)
