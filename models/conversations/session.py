"""Sessions: the end of each conversation's log, and the shape of the last request."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Index,
    LargeBinary,
    SmallInteger,
    Text,
    bindparam,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import INT8MULTIRANGE, INT8RANGE, Range
from sqlalchemy.orm import Mapped, mapped_column

from context.providers.model_windows import UsualBudget, UsualWindow
from context.window.emergency import EmergencyCut
from models.base import Base, CreatedAt, TenantKey
from models.conversations.session_state import SessionState
from models.driver_statement import DriverStatement
from models.due_work.queue import WorkKind, enqueue
from models.scope import Scope
from models.tenants.tenant import Tenant


class Session(Base):
    """A conversation: the end of the log, and the shape of the last request."""

    __tablename__ = "session"
    __table_args__ = (
        CheckConstraint("generation >= 1", name="generation_counts_from_1"),
        CheckConstraint("0 <= start_seq and start_seq <= last_seq", name="start_is_in_the_log"),
        CheckConstraint("last_turn_index >= 0", name="turns_count_from_0"),
        CheckConstraint("0 <= cut_seq and cut_seq <= last_seq", name="cut_is_in_the_log"),
        CheckConstraint("1 <= kept_seq and kept_seq < cut_seq", name="kept_is_in_the_cut"),
        CheckConstraint("max_history_tokens >= 1", name="history_limit_is_positive"),
        Index("ix_session_age", "tenant_id", "created_at", "session_id"),
        Index(
            "ix_session_counts",
            "tenant_id",
            "session_id",
            postgresql_where=text("counts_revision < 2"),
        ),
        {"postgresql_with": {"fillfactor": 80, "autovacuum_vacuum_scale_factor": 0.05}},
    )

    tenant_id: Mapped[TenantKey]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    generation: Mapped[int] = mapped_column(server_default=text("1"))
    start_seq: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    last_seq: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    last_turn_index: Mapped[int] = mapped_column(server_default=text("0"))
    history_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    summarized_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    summarized_seq: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    summary_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    prepared_seq: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    prepared_tokens: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    prepared_summary_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    cut_seq: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    kept_seq: Mapped[int | None] = mapped_column(BigInteger)
    model: Mapped[str | None]
    context_window: Mapped[int | None]
    max_tokens: Mapped[int | None]
    system_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    tools_tokens: Mapped[int] = mapped_column(server_default=text("0"))
    last_turn_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
    unsigned_seq: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    most_images: Mapped[int | None]
    counts_revision: Mapped[int] = mapped_column(SmallInteger, server_default=text("2"))
    resets: Mapped[list[bytes]] = mapped_column(ARRAY(LargeBinary), server_default=text("'{}'"))
    max_history_tokens: Mapped[int | None]
    narrow_window: Mapped[int | None]
    narrow_reads: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    cache_after_seq: Mapped[int | None] = mapped_column(BigInteger)
    cache_model: Mapped[str | None]
    cache_input_tokens: Mapped[int | None]
    cache_expected_tokens: Mapped[int | None]
    turn_as_of: Mapped[datetime | None]
    removed_seqs: Mapped[list[Range[int]]] = mapped_column(INT8MULTIRANGE, server_default=text("'{}'"))
    asked_model: Mapped[str | None]
    hidden_seqs: Mapped[Range[int] | None] = mapped_column(INT8RANGE)
    bare_from: Mapped[int | None] = mapped_column(BigInteger)
    budget_tokens: Mapped[int | None]
    narrow_budget: Mapped[int | None]
    narrow_turns: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    narrow_seq: Mapped[int | None] = mapped_column(BigInteger)


_OF_TENANT = (
    select(Tenant.max_history_tokens)
    .where(Tenant.tenant_id == Session.tenant_id)
    .correlate(Session)
    .scalar_subquery()
    .label("tenant_history_tokens")
)

STATE_COLUMNS = [
    *(Session.__table__.c[name] for name in SessionState.__dataclass_fields__ if name != _OF_TENANT.name),
    _OF_TENANT,
]
"""Columns in the order of the fields of `SessionState`; the last field is the tenant's."""


def find_session(scope: Scope, session_id: str) -> SessionState | None:
    """Find the state of a session; returns None when no turn of the session was ever accepted."""
    row = scope.db.execute(
        select(*STATE_COLUMNS).where(Session.tenant_id == scope.tenant_id, Session.session_id == session_id)
    ).one_or_none()
    return SessionState(*row) if row else None


def lock_sessions(scope: Scope, session_ids: Iterable[str]) -> dict[str, SessionState]:
    """Create the missing sessions, and lock all sessions until the transaction ends.

    Rows are locked in the order of the ids, so that two batches cannot deadlock. The key stays free:
    otherwise a worker with locked work that stores a row of the session would wait for an event that waits
    for the work.
    """
    wanted = sorted(set(session_ids))
    return create_missing(scope, wanted, lock_existing(scope, wanted))


def create_missing(
    scope: Scope, wanted: Sequence[str], found: Mapping[str, SessionState]
) -> dict[str, SessionState]:
    """Create and lock the sessions that were not found.

    Args:
        scope: The transaction and its tenant.
        wanted: The ids of all sessions, in order.
        found: The locked sessions.

    Returns:
        All sessions, locked until the transaction ends.
    """
    locked = dict(found)
    for _ in range(_MOST_TRIES):
        missing = [session_id for session_id in wanted if session_id not in locked]
        if not missing:
            break
        scope.execute(_CREATE, session_ids=missing)
        locked |= lock_existing(scope, missing)
    return locked


_MOST_TRIES = 5
"""Another event may create a session, and a third event erase the session, before the lock here."""

_CREATE = text(
    """
    insert into session (tenant_id, session_id, generation)
    select tenant_id, wanted.session_id, erased_generation + 1
    from tenant, unnest(cast(:session_ids as text[])) as wanted (session_id)
    where tenant_id = :tenant_id
    on conflict do nothing
    """
)
"""A session created again after an erasure gets a later generation than ever: anything under way for the
old session fits nowhere in the new session.
"""


_LOCK = (
    select(*STATE_COLUMNS)
    .where(
        Session.tenant_id == bindparam("tenant_id"),
        Session.session_id == func.any(bindparam("session_ids", type_=ARRAY(Text))),
    )
    .order_by(Session.session_id)
    .with_for_update(key_share=True)
)


def lock_existing(scope: Scope, session_ids: Sequence[str]) -> dict[str, SessionState]:
    """Lock the existing sessions until the transaction ends, and create none."""
    rows = scope.execute(_LOCK, session_ids=list(session_ids))
    return {row[0]: SessionState(*row) for row in rows}


_CLAIM = text(
    """
    insert into session (tenant_id, session_id, generation)
    select tenant_id, :session_id, erased_generation + 1 from tenant where tenant_id = :tenant_id
    on conflict (tenant_id, session_id) do update set last_seq = session.last_seq
    returning session.xmax <> 0
    """
)


def claim_session(scope: Scope, session_id: str) -> SessionState | None:
    """Lock a session's id until the transaction ends, session or not: nobody begins the session meanwhile.

    Call from a transaction that deletes the session: a row created here stands for the id alone.

    Returns:
        The session's state before; None without a session.
    """
    found = lock_existing(scope, [session_id]).get(session_id)
    if found is not None:
        return found
    begun = scope.execute(_CLAIM, session_id=session_id).scalar_one_or_none()
    return lock_existing(scope, [session_id]).get(session_id) if begun else None


def hold_generation(scope: Scope, session_id: str, generation: int) -> bool:
    """Lock a session against changes until the transaction ends, so that no data read before is erased.

    Call before the transaction locks anything else.

    Returns:
        False for a session no longer of this generation: data read before may be gone.
    """
    return _held_generation(scope, session_id) == generation


def hold_session(scope: Scope, session_id: str) -> bool:
    """Lock a session until the transaction ends, so that rows stored meanwhile are erased with the session.

    Call before the transaction locks anything else.

    Returns:
        False without such a session.
    """
    return _held_generation(scope, session_id) is not None


def _held_generation(scope: Scope, session_id: str) -> int | None:
    return scope.db.execute(
        select(Session.generation)
        .where(Session.tenant_id == scope.tenant_id, Session.session_id == session_id)
        .with_for_update(read=True)
    ).scalar_one_or_none()


def remember_request(
    scope: Scope,
    session: SessionState,
    *,
    model: str,
    window: UsualWindow,
    usual: UsualBudget,
    system_tokens: int,
    tools_tokens: int,
    max_tokens: int,
) -> None:
    """Store the token counts beside history and the window of the last request, for the trigger.

    As the answering model, the model counts only until a turn names one. Loss is harmless.
    """
    _REMEMBER.rows(
        scope.db,
        {
            "tenant_id": scope.tenant_id,
            "session_id": session.session_id,
            "model": model,
            "context_window": window.tokens,
            "narrow_window": window.narrow_tokens,
            "narrow_reads": window.narrow_reads,
            "budget_tokens": usual.tokens,
            "narrow_budget": usual.narrow_tokens,
            "narrow_turns": usual.narrow_turns,
            "narrow_seq": usual.narrow_seq,
            "system_tokens": system_tokens,
            "tools_tokens": tools_tokens,
            "max_tokens": max_tokens,
        },
    )


_REMEMBER = DriverStatement("""
    update session set model = coalesce(model, :model), asked_model = :model,
        context_window = :context_window, narrow_window = :narrow_window,
        narrow_reads = :narrow_reads, budget_tokens = :budget_tokens,
        narrow_budget = :narrow_budget, narrow_turns = :narrow_turns, narrow_seq = :narrow_seq,
        system_tokens = :system_tokens, tools_tokens = :tools_tokens, max_tokens = :max_tokens
    where tenant_id = :tenant_id and session_id = :session_id
""")


def cut_session(scope: Scope, seen: SessionState, cut: EmergencyCut) -> bool:
    """Leave out old messages from now on, by compare-and-set; no message is lost, and recall finds all.

    False: since `seen` was read the session was reset or erased, or another emergency cut the session.
    """
    done = scope.db.execute(
        update(Session)
        .where(
            Session.tenant_id == scope.tenant_id,
            Session.session_id == seen.session_id,
            Session.generation == seen.generation,
            Session.cut_seq == seen.cut_seq,
            Session.kept_seq.is_not_distinct_from(seen.kept_seq),
        )
        .values(cut_seq=cut.cut_seq, kept_seq=cut.kept_seq)
    )
    if done.rowcount != 1:
        return False
    enqueue(scope, WorkKind.RECALL, seen.session_id)
    return True
