"""Preflight: each tenant's policy, and each session's last topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Double,
    ForeignKeyConstraint,
    Text,
    and_,
    bindparam,
    func,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.types import Message, Role, Wire
from models.base import SESSION_KEY, Base, TenantKey, TenantPart
from models.conversations.log import StoredMessage, TurnRow
from models.conversations.session import Session
from models.learning.habits import UserProfile
from models.scope import Scope


class PreflightPolicyRow(Base):
    """A tenant's policy in force; without a row, the settings' policy is in force."""

    __tablename__ = "preflight_policy"
    __table_args__ = (CheckConstraint("version >= 1", name="version_counts_from_1"),)

    tenant_id: Mapped[TenantKey]
    version: Mapped[int]
    config: Mapped[dict[str, Any]]
    updated_at: Mapped[datetime]


class PreflightSession(Base):
    """Topic of a session's last task: empty categories for an unrecognized topic."""

    __tablename__ = "preflight_session"
    __table_args__ = (
        ForeignKeyConstraint(["tenant_id", "session_id"], SESSION_KEY, ondelete="CASCADE"),
        CheckConstraint("confidence between 0 and 1", name="confidence_is_a_share"),
    )

    tenant_id: Mapped[TenantPart]
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    categories: Mapped[list[str]] = mapped_column(ARRAY(Text))
    confidence: Mapped[float] = mapped_column(Double)
    decided_at: Mapped[datetime]


@dataclass(frozen=True)
class StoredPolicy:
    """A tenant's policy as put, with the version."""

    version: int
    config: Mapping[str, Any]
    updated_at: datetime


@dataclass(frozen=True)
class Topic:
    """Last topic of a session.

    Attributes:
        last_turn_index: The newest turn, >= 0.
        categories: Categories of the last task; None before the first classified task.
        confidence: Confidence of the categories, in [0, 1].
        age_s: Age of the decision, in seconds.
        habits: The user's share of each category, as weights of decisions.
        recalls: True if some turns are known to recall only.
    """

    last_turn_index: int
    categories: Sequence[str] | None
    confidence: float
    age_s: float
    habits: Mapping[str, float] = field(default_factory=dict)
    recalls: bool = False


def find_policy(scope: Scope) -> StoredPolicy | None:
    """Find a tenant's own policy; returns None without a policy."""
    row = scope.db.execute(
        select(PreflightPolicyRow.version, PreflightPolicyRow.config, PreflightPolicyRow.updated_at).where(
            PreflightPolicyRow.tenant_id == scope.tenant_id
        )
    ).one_or_none()
    return StoredPolicy(*row) if row else None


def put_policy(scope: Scope, config: Mapping[str, Any]) -> StoredPolicy:
    """Put a policy in force. The same policy again changes nothing, not even the version."""
    row = insert(PreflightPolicyRow).values(
        tenant_id=scope.tenant_id, version=1, config=dict(config), updated_at=func.now()
    )
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[PreflightPolicyRow.tenant_id],
            set_={
                "version": PreflightPolicyRow.version + 1,
                "config": row.excluded.config,
                "updated_at": func.now(),
            },
            where=PreflightPolicyRow.config.is_distinct_from(row.excluded.config),
        )
    )
    stored = find_policy(scope)
    if stored is None:  # pragma: no cover - the row was just written
        raise LookupError(scope.tenant_id)
    return stored


_HABITS = (
    select(func.jsonb_object_agg(UserProfile.category, UserProfile.weight))
    .join(TurnRow, and_(TurnRow.tenant_id == UserProfile.tenant_id, TurnRow.user_id == UserProfile.user_id))
    .where(
        TurnRow.tenant_id == Session.tenant_id,
        TurnRow.session_id == Session.session_id,
        TurnRow.turn_index == Session.last_turn_index,
    )
    .correlate(Session)
    .scalar_subquery()
)
_RECALLS = or_(Session.summarized_seq > Session.start_seq, Session.cut_seq > Session.start_seq)
"""True when older turns are hidden from windows, so that only recall shows the words."""

TOPIC_COLUMNS = (
    Session.last_turn_index,
    PreflightSession.categories,
    func.coalesce(PreflightSession.confidence, 0.0),
    func.coalesce(func.extract("epoch", func.now() - PreflightSession.decided_at), 0.0),
    _HABITS,
    _RECALLS,
)
"""A session's last topic, in a query of sessions joined by `TOPIC_OF_SESSION`; see `read_topic`."""

TOPIC_OF_SESSION = and_(
    PreflightSession.tenant_id == Session.tenant_id, PreflightSession.session_id == Session.session_id
)

_TOPIC = (
    select(*TOPIC_COLUMNS)
    .join(PreflightSession, TOPIC_OF_SESSION, isouter=True)
    .where(Session.tenant_id == bindparam("tenant_id"), Session.session_id == bindparam("session_id"))
)


def find_topic(scope: Scope, session_id: str) -> Topic | None:
    """Find the last topic of a session; returns None when no turn of the session was ever accepted."""
    row = scope.execute(_TOPIC, session_id=session_id).one_or_none()
    return read_topic(row) if row else None


def read_topic(row: Sequence[Any]) -> Topic:
    """Read a row of `TOPIC_COLUMNS`."""
    return Topic(row[0], row[1], float(row[2]), float(row[3]), row[4] or {}, bool(row[5]))


_LAST_ASKED = (
    select(
        StoredMessage.seq,
        StoredMessage.body,
        StoredMessage.wire,
        func.extract("epoch", func.now() - Session.last_turn_at),
    )
    .join(
        Session,
        and_(Session.tenant_id == StoredMessage.tenant_id, Session.session_id == StoredMessage.session_id),
    )
    .where(
        StoredMessage.tenant_id == bindparam("tenant_id"),
        StoredMessage.session_id == bindparam("session_id"),
        StoredMessage.role == Role.USER,
        StoredMessage.seq > Session.start_seq,
    )
    .order_by(StoredMessage.seq.desc())
    .limit(bindparam("most"))
)


def load_asked(scope: Scope, session_id: str, *, most: int) -> list[tuple[Message, float]]:
    """Read the users' last messages in a session, newest first, with the age of the last turn in seconds."""
    cells = scope.cells
    rows = scope.execute(_LAST_ASKED, session_id=session_id, most=most)
    return [
        (
            Message(
                row[0],
                Role.USER,
                0,
                cells.open("message.body", row[1], session_id, row[0]),
                wire=Wire(row[2]),
            ),
            max(float(row[3] or 0.0), 0.0),
        )
        for row in rows
    ]


TOPIC_SQL = """
    insert into preflight_session (tenant_id, session_id, categories, confidence, decided_at)
    select s.tenant_id, s.session_id, t.categories, t.confidence, now()
    from session as s, json_to_recordset(cast(:topic as json)) as t (categories text[], confidence float8)
    where s.tenant_id = :tenant_id and s.session_id = :session_id
    on conflict (tenant_id, session_id) do update set
        categories = excluded.categories, confidence = excluded.confidence, decided_at = excluded.decided_at
"""
"""Store the topic of a session; nothing is stored for a session without a turn."""
