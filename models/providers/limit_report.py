"""Limits of models for operators and platforms: shown, set, forgotten."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Text, case, delete, literal, select, true
from sqlalchemy.orm import InstrumentedAttribute

from context.providers.model_windows import model_ids
from models.providers.context_limit import (
    HOLDS_FOR_ITS_SESSION,
    HOLDS_FOR_THE_TENANT,
    LIMIT_HOURS,
    LimitSighting,
    ModelLimit,
    TenantSource,
    hold_limit,
)
from models.scope import Scope


@dataclass(frozen=True)
class KnownLimit:
    """A limit in force.

    Attributes:
        model: The model.
        limit_tokens: The window.
        source: Source of the limit.
        session_id: The only session of the limit; None for all sessions of the tenant.
        seen_at: Time of the last sighting or setting.
        expires_at: Time of the expiry; None for an operator's limit.
    """

    model: str
    limit_tokens: int
    source: str
    session_id: str | None
    seen_at: datetime
    expires_at: datetime | None


def list_limits(scope: Scope, *, model: str | None = None, limit: int = 1_000) -> list[KnownLimit]:
    """List the limits in force: limits of the whole tenant first, then the newest of sessions."""
    ends = timedelta(hours=LIMIT_HOURS)
    held = select(
        ModelLimit.model,
        ModelLimit.limit_tokens,
        ModelLimit.source,
        literal(None, Text).label("session_id"),
        ModelLimit.learned_at,
        case((ModelLimit.source == TenantSource.OPERATOR, None), else_=ModelLimit.learned_at + ends),
    ).where(
        ModelLimit.tenant_id == scope.tenant_id,
        HOLDS_FOR_THE_TENANT,
        _is_of(ModelLimit.model_id, model),
    )
    seen = select(
        LimitSighting.model,
        LimitSighting.limit_tokens,
        LimitSighting.source,
        LimitSighting.session_id,
        LimitSighting.seen_at,
        LimitSighting.seen_at + ends,
    ).where(
        LimitSighting.tenant_id == scope.tenant_id,
        HOLDS_FOR_ITS_SESSION,
        _is_of(LimitSighting.model_id, model),
    )
    rows = scope.db.execute(held.order_by(ModelLimit.model).limit(limit)).all()
    more = scope.db.execute(seen.order_by(LimitSighting.seen_at.desc()).limit(limit - len(rows))).all()
    return [KnownLimit(*row) for row in (*rows, *more)]


def forget_limits(
    scope: Scope,
    *,
    model: str | None = None,
    session_id: str | None = None,
    learned: bool = False,
) -> int:
    """Delete limits, of a model (under any name) or session, or all limits.

    Args:
        scope: The transaction and its tenant.
        model: The model; None for every model.
        session_id: The session; None for every session and the tenant.
        learned: True to keep the limits of an operator.

    Returns:
        The number of limits.
    """
    of_session = LimitSighting.session_id == session_id if session_id else true()
    gone = scope.db.execute(
        delete(LimitSighting).where(
            LimitSighting.tenant_id == scope.tenant_id, _is_of(LimitSighting.model_id, model), of_session
        )
    ).rowcount
    if session_id is None:
        held = delete(ModelLimit).where(
            ModelLimit.tenant_id == scope.tenant_id, _is_of(ModelLimit.model_id, model)
        )
        if learned:
            held = held.where(ModelLimit.source != TenantSource.OPERATOR)
        gone += scope.db.execute(held).rowcount
    return gone


def set_limit(scope: Scope, model: str, limit_tokens: int) -> None:
    """Set a model's window for all sessions of a tenant, as known to an operator, without expiry."""
    hold_limit(scope, model, limit_tokens, TenantSource.OPERATOR)


def _is_of(column: InstrumentedAttribute[str], model: str | None) -> ColumnElement[bool]:
    """Build the condition for limits of a model, under any name; any model without a given model."""
    return column.in_(model_ids(model)) if model else true()
