"""Learned token limits of models: sightings of single sessions, and limits for a whole tenant."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ColumnElement,
    Index,
    Text,
    and_,
    any_,
    bindparam,
    case,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.providers.model_windows import model_ids, plain_id
from context.providers.refused_sizes import Vote, agreed_limit
from models.base import Base, TenantKey, Timestamp
from models.database import Transaction
from models.scope import Scope
from models.tenants.tenant import count_writing_keys

LIMIT_HOURS = 6
"""Lifetime of a learned limit since the last sighting: a server may be given a larger window."""

MOST_SIGHTINGS = 200
"""Number of newest sightings of a model compared with each other."""


class SightingSource(StrEnum):
    """Source of a limit seen by a session."""

    ERROR = "error"
    OBSERVED = "observed"


class TenantSource(StrEnum):
    """Source of a limit for all sessions of a tenant."""

    AGREED = "agreed"
    OPERATOR = "operator"


class LimitSighting(Base):
    """A model's window as told by a refusal in a session; lowers the limit of the session.

    A larger successful call, ours or reported by the session, outdoes a sighting. A report by another session
    contradicts a sighting: the sighting holds for its session, and counts towards no agreement. A sighting
    seen again after being outdone holds until the expiry: the session's own server may be smaller than other
    servers.
    """

    __tablename__ = "limit_sighting"
    __table_args__ = (
        CheckConstraint("limit_tokens > 0", name="limit_is_positive"),
        CheckConstraint("source in ('error', 'observed')", name="source_is_known"),
        Index(None, "tenant_id", "session_id"),
        Index(None, "tenant_id", "model_id"),
    )

    tenant_id: Mapped[TenantKey]
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    session_id: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    model_id: Mapped[str] = mapped_column(Text(collation="C"), server_default=text("''"))
    key_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    limit_tokens: Mapped[int]
    source: Mapped[str]
    seen_at: Mapped[Timestamp]
    outdone_at: Mapped[datetime | None]
    contradicted_at: Mapped[datetime | None]
    came_back: Mapped[bool] = mapped_column(server_default=text("false"))


class ModelLimit(Base):
    """A model's window for all sessions of a tenant: set by an operator, or agreed by sessions.

    A row of another source was written by an earlier version from a single caller's word, and holds for
    nobody.
    """

    __tablename__ = "model_limit"
    __table_args__ = (
        CheckConstraint("limit_tokens > 0", name="limit_is_positive"),
        CheckConstraint("source in ('agreed', 'operator', 'error', 'observed')", name="source_is_known"),
    )

    tenant_id: Mapped[TenantKey]
    model: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    model_id: Mapped[str] = mapped_column(Text(collation="C"), server_default=text("''"))
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


_NAME, _IDS = bindparam("limit_model", type_=Text), bindparam("limit_ids", type_=ARRAY(Text))


def names_of(model: str | None) -> dict[str, Any]:
    """Build the model parameters of `limit_of`; without a model there is no limit."""
    return {"limit_model": model, "limit_ids": list(model_ids(model)) if model else []}


def limit_of(tenant_id: Any, session_id: Any) -> ColumnElement[int | None]:
    """Build the limit in force as a part of another query; the arguments are columns or parameters.

    The model comes from `names_of`, with all names of the model. Among limits for the tenant, an operator's
    limit for exactly this name comes first, then an operator's limit for another name of the model, then an
    agreed
    limit.
    """
    seen = select(func.min(LimitSighting.limit_tokens)).where(
        LimitSighting.tenant_id == tenant_id,
        LimitSighting.model_id == any_(_IDS),
        LimitSighting.session_id == session_id,
        HOLDS_FOR_ITS_SESSION,
    )
    by_operator = ModelLimit.source == TenantSource.OPERATOR
    held = (
        select(ModelLimit.limit_tokens)
        .where(ModelLimit.tenant_id == tenant_id, ModelLimit.model_id == any_(_IDS), HOLDS_FOR_THE_TENANT)
        .order_by(and_(by_operator, ModelLimit.model == _NAME).desc(), by_operator.desc())
        .order_by(ModelLimit.limit_tokens)
        .limit(1)
    )
    return func.least(seen.scalar_subquery(), held.scalar_subquery())


def find_limit(scope: Scope, model: str, session_id: str | None = None) -> int | None:
    """Find the limit in force for a session, in tokens; returns None without a recent sighting.

    Args:
        scope: The transaction and its tenant.
        model: The model's name as given in requests.
        session_id: The asking session; None for the limit of every session of the tenant.
    """
    query = select(limit_of(scope.tenant_id, session_id))
    found: int | None = scope.db.execute(query, names_of(model)).scalar_one()
    return found


@dataclass(frozen=True)
class Sighting:
    """A refusal that told a window.

    Attributes:
        model: The model's name as given in requests.
        session_id: The session of the refused call.
        limit_tokens: The window, > 0.
        source: Source of the window.
        key_id: The API key of the reporting call; None for a worker's own call.
    """

    model: str
    session_id: str
    limit_tokens: int
    source: SightingSource
    key_id: str | None = None


def learn_limit(scope: Scope, seen: Sighting, *, floor_tokens: int) -> int:
    """Store a limit seen by a session, and extend the limit to the tenant once enough others agree.

    A lower limit seen lately by the session stays. A sighting contradicted by the ledger counts for the
    session only.

    Args:
        scope: The transaction and its tenant.
        seen: The session's sighting.
        floor_tokens: The lowest tenant limit that callers together may set, > 0.

    Returns:
        The limit in force for the session now, in tokens.
    """
    _remember(scope, seen, counts=not was_outdone(scope, seen.model, seen.limit_tokens))
    agreed = agreed_limit(_votes(scope, seen.model), keys=count_writing_keys(scope))
    if agreed is not None:
        hold_limit(scope, seen.model, max(agreed, floor_tokens), TenantSource.AGREED)
    return find_limit(scope, seen.model, seen.session_id) or seen.limit_tokens


_HOURS: Mapping[str, Any] = {"hours": LIMIT_HOURS}
_FORGET_EXPIRED = text("delete from limit_sighting where seen_at <= now() - :hours * interval '1 hour'")
_VOTES = text(
    """
    select s.limit_tokens, s.key_id, t.user_id, t.model
    from limit_sighting s left join lateral (
        select user_id, model from turn
        where tenant_id = s.tenant_id and session_id = s.session_id and user_id is not null
        order by turn_index desc limit 1
    ) t on true
    where s.tenant_id = :tenant_id and s.model_id = :model_id
        and s.outdone_at is null and s.contradicted_at is null
        and s.seen_at > now() - :hours * interval '1 hour'
    order by s.seen_at desc limit :most
    """
)


def _votes(scope: Scope, model: str) -> list[Vote]:
    """List the sightings of a model, under any name of the model, as votes.

    A session votes for the user of the newest turn, unless another model answered the turn.
    """
    asked = {"model_id": plain_id(model), "most": MOST_SIGHTINGS, **_HOURS}
    return [
        Vote(row.limit_tokens, row.user_id, row.key_id)
        for row in scope.execute(_VOTES, **asked)
        if row.model is None or plain_id(row.model) == plain_id(model)
    ]


_OF_A_SIGHTING = (
    "model_id", "key_id", "limit_tokens", "source", "seen_at", "outdone_at", "contradicted_at",
)  # fmt: skip


def _remember(scope: Scope, seen: Sighting, *, counts: bool) -> None:
    """Store a sighting; a sighting excluded from agreement holds for the session all the same."""
    row = insert(LimitSighting).values(
        tenant_id=scope.tenant_id,
        model_id=plain_id(seen.model),
        **vars(seen),
        seen_at=func.now(),
        outdone_at=None if counts else func.now(),
        came_back=not counts,
    )
    new = row.excluded
    is_taken = or_(~HOLDS_FOR_ITS_SESSION, new.limit_tokens <= LimitSighting.limit_tokens)
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[LimitSighting.tenant_id, LimitSighting.model, LimitSighting.session_id],
            set_={
                **{
                    name: case((is_taken, new[name]), else_=getattr(LimitSighting, name))
                    for name in _OF_A_SIGHTING
                },
                "came_back": or_(
                    new.came_back,
                    and_(_SEEN_LATELY, or_(LimitSighting.came_back, LimitSighting.outdone_at.is_not(None))),
                ),
            },
        )
    )


def hold_limit(scope: Scope, model: str, limit_tokens: int, source: TenantSource) -> None:
    """Set a limit for all sessions of a tenant; only an operator changes an operator's limit."""
    row = insert(ModelLimit).values(
        tenant_id=scope.tenant_id,
        model=model,
        model_id=plain_id(model),
        limit_tokens=limit_tokens,
        source=source,
        learned_at=func.now(),
    )
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[ModelLimit.tenant_id, ModelLimit.model],
            set_={name: row.excluded[name] for name in ("model_id", "limit_tokens", "source", "learned_at")},
            where=None if source is TenantSource.OPERATOR else ModelLimit.source != TenantSource.OPERATOR,
        )
    )


_LARGER_CALLS = text(
    """
    select distinct model from llm_call
    where tenant_id = :tenant_id and created_at > now() - :hours * interval '1 hour'
        and state = 'ok' and input_tokens > :limit_tokens
    """
)


def was_outdone(scope: Scope, model: str, limit_tokens: int) -> bool:
    """Check whether the ledger holds a recent, larger, successful call of the model, under any name."""
    asked = {"limit_tokens": limit_tokens, **_HOURS}
    return any(plain_id(name) == plain_id(model) for name in scope.execute(_LARGER_CALLS, **asked).scalars())


_LOWER = "tenant_id = :tenant_id and model_id = :model_id and limit_tokens < :tokens"
_LOWER_SIGHTING = f"""{_LOWER} and outdone_at is null and (
    contradicted_at is null or cast(:session_id as text) is null or session_id = :session_id)"""
_HAS_LOWER = text(
    f"""
    select exists (select from limit_sighting where {_LOWER_SIGHTING})
        or exists (select from model_limit where {_LOWER} and source = 'agreed')
    """  # noqa: S608 (words of ours)
)
_OUTDO = text(
    f"""
    update limit_sighting set contradicted_at = now(), outdone_at = case
        when cast(:session_id as text) is null or session_id = :session_id then now() end
    where (tenant_id, model, session_id) in (
        select tenant_id, model, session_id from limit_sighting where {_LOWER_SIGHTING}
        for update skip locked
    )
    """  # noqa: S608 (words of ours)
)
_DISAGREE = text(
    f"""
    delete from model_limit where (tenant_id, model) in (
        select tenant_id, model from model_limit where {_LOWER} and source = 'agreed'
        for update skip locked
    )
    """  # noqa: S608 (words of ours)
)


def has_lower_limit(scope: Scope, model: str, input_tokens: int, session_id: str | None = None) -> bool:
    """Check whether a successful call of a number of tokens changes any limit learned from callers."""
    return bool(
        scope.db.execute(_HAS_LOWER, _larger(scope.tenant_id, model, input_tokens, session_id)).scalar_one()
    )


def outdo_limits(scope: Scope, model: str, input_tokens: int, session_id: str | None = None) -> int:
    """Raise the limits proved too low by a larger successful call; an operator's limit stays.

    A session's report proves the session's own limit too low, and cancels an agreed limit. Other sessions
    keep their own sightings: other servers may be smaller, and the report may be wrong.

    Args:
        scope: The transaction and its tenant.
        model: The model's name as given in requests.
        input_tokens: Input tokens accepted by the provider.
        session_id: The reporting session; None for a call of our own, valid for all sessions.

    Returns:
        Number of changed limits.
    """
    asked = _larger(scope.tenant_id, model, input_tokens, session_id)
    return scope.db.execute(_OUTDO, asked).rowcount + scope.db.execute(_DISAGREE, asked).rowcount


def _larger(tenant_id: UUID, model: str, tokens: int, session_id: str | None) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "model_id": plain_id(model),
        "tokens": tokens,
        "session_id": session_id,
    }


def forget_expired_limits(db: Transaction) -> int:
    """Delete the expired sightings. Returns the number of deleted rows."""
    return db.execute(_FORGET_EXPIRED, dict(_HOURS)).rowcount
