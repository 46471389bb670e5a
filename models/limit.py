"""The limits that models turned out to have: one session's sightings, and what holds for a whole tenant."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    Index,
    Text,
    and_,
    case,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey, Timestamp
from models.session import Transaction

LIMIT_HOURS = 6
"""A learned limit holds for so long after it was last seen: a server may be given a larger window."""

AGREEING_USERS = 3
"""A limit holds for a whole tenant once sessions of so many different users saw it."""

AGREEMENT = 0.9
"""Sightings agree where the lowest is at least this share of the highest."""

MOST_SIGHTINGS = 200
"""So many of the newest sightings of a model are compared with each other."""


class LimitSource(StrEnum):
    """Who named a limit that one session saw."""

    ERROR = "error"
    OBSERVED = "observed"


class TenantSource(StrEnum):
    """Why a limit holds for all sessions of a tenant."""

    AGREED = "agreed"
    OPERATOR = "operator"


class LimitSighting(Base):
    """The window that one session's refusal told of a model; it lowers what this session believes.

    A larger call that succeeded outdoes a sighting. One that came back after it was outdone holds for its
    session until it expires: the session's own server may be smaller than those of others.
    """

    __tablename__ = "limit_sighting"
    __table_args__ = (
        CheckConstraint("limit_tokens > 0", name="limit_is_positive"),
        CheckConstraint("source in ('error', 'observed')", name="source_is_known"),
        Index(None, "tenant_id", "session_id"),
    )

    tenant_id: Mapped[TenantKey]
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    limit_tokens: Mapped[int]
    source: Mapped[str]
    seen_at: Mapped[Timestamp]
    outdone_at: Mapped[datetime | None]
    came_back: Mapped[bool] = mapped_column(server_default=text("false"))


class ModelLimit(Base):
    """The window of a model for all sessions of a tenant: an operator's word, or what sessions agree on.

    A row of another source was written by an earlier version from one caller's word, and holds for nobody.
    """

    __tablename__ = "model_limit"
    __table_args__ = (
        CheckConstraint("limit_tokens > 0", name="limit_is_positive"),
        CheckConstraint("source in ('agreed', 'operator', 'error', 'observed')", name="source_is_known"),
    )

    tenant_id: Mapped[TenantKey]
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    limit_tokens: Mapped[int]
    source: Mapped[str]
    learned_at: Mapped[Timestamp]


_SEEN_LATELY = LimitSighting.seen_at > func.now() - timedelta(hours=LIMIT_HOURS)
HOLDS_FOR_ITS_SESSION = and_(_SEEN_LATELY, or_(LimitSighting.outdone_at.is_(None), LimitSighting.came_back))
HOLDS_FOR_THE_TENANT = or_(
    ModelLimit.source == TenantSource.OPERATOR,
    and_(
        ModelLimit.source == TenantSource.AGREED,
        ModelLimit.learned_at > func.now() - timedelta(hours=LIMIT_HOURS),
    ),
)


def limit_of(tenant_id: Any, model: Any, session_id: Any) -> ColumnElement[int | None]:
    """The limit in force as a part of another query, whose columns or parameters the arguments are."""
    seen = select(LimitSighting.limit_tokens).where(
        LimitSighting.tenant_id == tenant_id,
        LimitSighting.model == model,
        LimitSighting.session_id == session_id,
        HOLDS_FOR_ITS_SESSION,
    )
    held = select(ModelLimit.limit_tokens).where(
        ModelLimit.tenant_id == tenant_id, ModelLimit.model == model, HOLDS_FOR_THE_TENANT
    )
    return func.least(seen.scalar_subquery(), held.scalar_subquery())


def find_limit(db: Transaction, tenant_id: UUID, model: str, session_id: str | None = None) -> int | None:
    """Find the limit in force for a session, in tokens; None where nothing told one lately.

    Args:
        db: A connection.
        tenant_id: The tenant.
        model: The model's name as requests give it.
        session_id: The session that asks; None for what holds for every session of the tenant.
    """
    found: int | None = db.execute(select(limit_of(tenant_id, model, session_id))).scalar_one()
    return found


@dataclass(frozen=True)
class Sighting:
    """A refusal that told a window.

    Attributes:
        model: The model's name as requests give it.
        session_id: The session whose call was refused.
        limit_tokens: The window, > 0.
        source: Who named it.
    """

    model: str
    session_id: str
    limit_tokens: int
    source: LimitSource


def learn_limit(db: Transaction, tenant_id: UUID, seen: Sighting, *, floor_tokens: int) -> int:
    """Remember a limit that one session saw, and let it hold for the tenant where enough users agree.

    A lower limit that the session saw lately stays. A sighting that the ledger contradicts counts for its own
    session only.

    Args:
        db: A transaction.
        tenant_id: The tenant.
        seen: What one session saw.
        floor_tokens: The lowest limit that callers together may set for the tenant, > 0.

    Returns:
        The limit in force for this session now, in tokens.
    """
    _remember(db, tenant_id, seen, counts=not was_outdone(db, tenant_id, seen.model, seen.limit_tokens))
    agreed = db.execute(_AGREED, {"tenant_id": tenant_id, "model": seen.model, **_RULES}).scalar_one()
    if agreed is not None:
        _agree(db, tenant_id, seen.model, max(agreed, floor_tokens))
    return find_limit(db, tenant_id, seen.model, seen.session_id) or seen.limit_tokens


_HOURS: Mapping[str, Any] = {"hours": LIMIT_HOURS}
_RULES: Mapping[str, Any] = {
    "hours": LIMIT_HOURS,
    "most": MOST_SIGHTINGS,
    "agreement": AGREEMENT,
    "users": AGREEING_USERS,
}
_FORGET_EXPIRED = text("delete from limit_sighting where seen_at <= now() - :hours * interval '1 hour'")
_AGREED = text(
    """
    with seen as (
        select s.limit_tokens, (
            select t.user_id from turn t
            where t.tenant_id = s.tenant_id and t.session_id = s.session_id and t.user_id is not null
            order by t.turn_index desc limit 1
        ) as user_id
        from limit_sighting s
        where s.tenant_id = :tenant_id and s.model = :model and s.outdone_at is null
            and s.seen_at > now() - :hours * interval '1 hour'
        order by s.seen_at desc limit :most
    )
    select min(highest.limit_tokens) from seen highest
    where (
        select count(distinct other.user_id) from seen other
        where other.limit_tokens between highest.limit_tokens * :agreement and highest.limit_tokens
    ) >= :users
    """
)
"""The lowest limit that so many users saw, within a tenth; sessions without a named user count for none."""


def _remember(db: Transaction, tenant_id: UUID, seen: Sighting, *, counts: bool) -> None:
    """Keep a sighting; one that does not count towards agreement holds for its session all the same."""
    row = insert(LimitSighting).values(
        tenant_id=tenant_id,
        **vars(seen),
        seen_at=func.now(),
        outdone_at=None if counts else func.now(),
        came_back=not counts,
    )
    new = row.excluded
    is_taken = or_(~HOLDS_FOR_ITS_SESSION, new.limit_tokens <= LimitSighting.limit_tokens)
    db.execute(
        row.on_conflict_do_update(
            index_elements=[LimitSighting.tenant_id, LimitSighting.model, LimitSighting.session_id],
            set_={
                **{
                    name: case((is_taken, new[name]), else_=getattr(LimitSighting, name))
                    for name in ("limit_tokens", "source", "seen_at", "outdone_at")
                },
                "came_back": or_(
                    new.came_back,
                    and_(_SEEN_LATELY, or_(LimitSighting.came_back, LimitSighting.outdone_at.is_not(None))),
                ),
            },
        )
    )


def _agree(db: Transaction, tenant_id: UUID, model: str, limit_tokens: int) -> None:
    """Let a limit hold for the tenant; an operator's word stays."""
    row = insert(ModelLimit).values(
        tenant_id=tenant_id,
        model=model,
        limit_tokens=limit_tokens,
        source=TenantSource.AGREED,
        learned_at=func.now(),
    )
    db.execute(
        row.on_conflict_do_update(
            index_elements=[ModelLimit.tenant_id, ModelLimit.model],
            set_={name: row.excluded[name] for name in ("limit_tokens", "source", "learned_at")},
            where=ModelLimit.source != TenantSource.OPERATOR,
        )
    )


_LARGER_CALL = text(
    """
    select exists (
        select from llm_call
        where tenant_id = :tenant_id and created_at > now() - :hours * interval '1 hour'
            and model = :model and state = 'ok' and input_tokens > :limit_tokens
    )
    """
)


def was_outdone(db: Transaction, tenant_id: UUID, model: str, limit_tokens: int) -> bool:
    """Whether the ledger holds a larger call of this model that succeeded lately."""
    asked = {"tenant_id": tenant_id, "model": model, "limit_tokens": limit_tokens, **_HOURS}
    return bool(db.execute(_LARGER_CALL, asked).scalar_one())


_HAS_LOWER = text(
    """
    select exists (select from limit_sighting
            where tenant_id = :tenant_id and model = :model and limit_tokens < :tokens and outdone_at is null)
        or exists (select from model_limit
            where tenant_id = :tenant_id and model = :model and limit_tokens < :tokens and source = 'agreed')
    """
)
_OUTDO = text(
    """
    update limit_sighting set outdone_at = now() where (tenant_id, model, session_id) in (
        select tenant_id, model, session_id from limit_sighting
        where tenant_id = :tenant_id and model = :model and limit_tokens < :tokens and outdone_at is null
        for update skip locked
    )
    """
)
_DISAGREE = text(
    """
    delete from model_limit where (tenant_id, model) in (
        select tenant_id, model from model_limit
        where tenant_id = :tenant_id and model = :model and limit_tokens < :tokens and source = 'agreed'
        for update skip locked
    )
    """
)


def has_lower_limit(db: Transaction, tenant_id: UUID, model: str, input_tokens: int) -> bool:
    """Whether a call of so many tokens that succeeded outdoes any limit that callers taught."""
    asked = {"tenant_id": tenant_id, "model": model, "tokens": input_tokens}
    return bool(db.execute(_HAS_LOWER, asked).scalar_one())


def outdo_limits(db: Transaction, tenant_id: UUID, model: str, input_tokens: int) -> int:
    """Raise the limits that a larger successful call proves too low; an operator's word stays.

    Args:
        db: A transaction.
        tenant_id: The tenant.
        model: The model's name as requests give it.
        input_tokens: How many tokens of input the provider took.

    Returns:
        How many limits are out of force by it.
    """
    asked = {"tenant_id": tenant_id, "model": model, "tokens": input_tokens}
    return db.execute(_OUTDO, asked).rowcount + db.execute(_DISAGREE, asked).rowcount


def forget_expired_limits(db: Transaction) -> int:
    """Forget what sessions saw too long ago to hold. Returns how many sightings there were."""
    return db.execute(_FORGET_EXPIRED, dict(_HOURS)).rowcount
