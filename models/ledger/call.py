"""The ledger: a row for each model call, written before the call and settled afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ColumnElement,
    Index,
    Numeric,
    Text,
    Uuid,
    case,
    cast,
    exists,
    func,
    insert,
    literal,
    select,
    text,
    true,
    update,
)
from sqlalchemy import Date as SqlDate
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey, Timestamp
from models.conversations.session import Session
from models.database import Transaction
from models.due_work.queue import DueWork
from models.due_work.sealed_errors import seal_detail
from models.ledger.caps import BudgetDeniedError, Caps, Denial, next_day
from models.providers.context_limit import outdo_limits
from models.scope import Scope

_MONEY = Numeric(18, 10)


class CallState(StrEnum):
    """State of a call. `lost`: the process died before settling."""

    RESERVED = "reserved"
    OK = "ok"
    FAILED = "failed"
    LOST = "lost"


class LlmCall(Base):
    """A model call: purpose, token usage and cost.

    `price_usd` is the known price, null when unknown. `charged_*` counts towards the caps: the reservation
    until the call is settled, then the true amount, or a careful guess for an unknown amount.
    """

    __tablename__ = "llm_call"
    __table_args__ = (
        CheckConstraint("state in ('reserved', 'ok', 'failed', 'lost')", name="state_is_known"),
        CheckConstraint("(state = 'reserved') = (settled_at is null)", name="settled_has_a_time"),
        CheckConstraint("(state = 'failed') = (failure is not null)", name="failed_says_why"),
        CheckConstraint(
            "charged_tokens >= 0 and charged_usd >= 0 and price_usd >= 0", name="costs_nothing_or_more"
        ),
        CheckConstraint("cached_tokens <= input_tokens", name="cached_is_input"),
        CheckConstraint("reasoning_tokens <= output_tokens", name="reasoning_is_output"),
        Index(None, "tenant_id", "created_at"),
        Index(
            "ix_llm_call_session",
            "tenant_id",
            "session_id",
            "created_at",
            postgresql_where=text("session_id is not null"),
        ),
        Index("ix_llm_call_unsettled", "created_at", postgresql_where=text("state = 'reserved'")),
    )

    tenant_id: Mapped[TenantKey]
    call_id: Mapped[UUID] = mapped_column(primary_key=True, server_default=text("uuidv7()"))
    session_id: Mapped[str | None] = mapped_column(Text(collation="C"))
    work_id: Mapped[int | None] = mapped_column(BigInteger)
    purpose: Mapped[str]
    model: Mapped[str]
    answered_by: Mapped[str | None]
    state: Mapped[str]
    charged_tokens: Mapped[int] = mapped_column(BigInteger)
    charged_usd: Mapped[Decimal] = mapped_column(_MONEY)
    input_tokens: Mapped[int | None]
    cached_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    reasoning_tokens: Mapped[int | None]
    price_usd: Mapped[Decimal | None] = mapped_column(_MONEY)
    failure: Mapped[str | None]
    detail: Mapped[str | None]
    latency_ms: Mapped[int | None]
    created_at: Mapped[Timestamp]
    settled_at: Mapped[datetime | None]


@dataclass(frozen=True)
class Reservation:
    """A call about to be made, with the maximum charge.

    `is_guess` marks an unknown price; `judged_by` is the fingerprint behind the maximum, for a denial.
    """

    tenant_id: UUID
    purpose: str
    model: str
    tokens: int
    usd: Decimal
    session_id: str | None = None
    work_id: int | None = None
    is_guess: bool = False
    judged_by: str = ""


@dataclass(frozen=True)
class Settlement:
    """End of a call. A field of None is unknown; for `charged_*`, None keeps the reservation."""

    latency_s: float
    failure: str | None = None
    detail: str | None = None
    answered_by: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    price_usd: Decimal | None = None
    charged_tokens: int | None = None
    charged_usd: Decimal | None = None


@dataclass(frozen=True)
class Spent:
    """Charges counted by the caps so far today."""

    tokens: int
    usd: Decimal


@dataclass(frozen=True)
class DayUsage:
    """Calls of a day (UTC), purpose and model.

    `price_usd` sums the known prices only; `unpriced_calls` counts billed or possibly billed calls without a
    price; open calls are not included yet.
    """

    day: date
    purpose: str
    model: str
    calls: int
    failed: int
    lost: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    price_usd: Decimal
    unpriced_calls: int


def reserve(db: Transaction, call: Reservation, *, caps: Caps, now: datetime) -> UUID:
    """Write a call down before the call is made, if the caps leave room.

    Reservations of a tenant take turns, so that two reservations cannot both take the rest of a cap. A
    session erased meanwhile is not named: the session's row is held, so an erasure finds this call or is
    found by it.

    Args:
        db: A separate short transaction, committed before the call.
        call: Maximum charge of the call.
        caps: The caps in force.
        now: Time of the call; a day is a day in UTC.

    Returns:
        The call's id.

    Raises:
        BudgetDeniedError: A cap would be exceeded; nothing was written.
    """
    call = _of_what_stands(db, call)
    if caps.any_set:
        db.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"llm_call {call.tenant_id}", 0))))
        _check_caps(db, call, caps, now)
    row = insert(LlmCall).values(
        tenant_id=call.tenant_id,
        session_id=call.session_id,
        work_id=call.work_id,
        purpose=call.purpose,
        model=call.model,
        state=CallState.RESERVED,
        charged_tokens=call.tokens,
        charged_usd=call.usd,
        created_at=now,
    )
    return db.execute(row.returning(LlmCall.call_id)).scalar_one()


_HOLD_SESSION = text("select from session where tenant_id = :tenant and session_id = :name for key share")


def _of_what_stands(db: Transaction, call: Reservation) -> Reservation:
    """Remove a missing session from a call: erased since the work began, or never there."""
    if call.session_id is None:
        return call
    named = {"tenant": call.tenant_id, "name": call.session_id}
    stands = db.execute(_HOLD_SESSION, named).first() is not None
    return call if stands else replace(call, session_id=None)


def _check_caps(db: Transaction, call: Reservation, caps: Caps, now: datetime) -> None:
    scopes: Mapping[str, tuple[str | None, int | None, Decimal | None]] = {
        "tenant": (None, caps.tenant_tokens_per_day, caps.tenant_usd_per_day),
        "session": (call.session_id, caps.session_tokens_per_day, caps.session_usd_per_day),
    }
    for scope, (session_id, tokens_cap, usd_cap) in scopes.items():
        if (tokens_cap is None and usd_cap is None) or (scope == "session" and session_id is None):
            continue
        spent = spent_today(Scope(db, call.tenant_id), session_id, now=now)
        limits = (("tokens", spent.tokens, call.tokens, tokens_cap), ("usd", spent.usd, call.usd, usd_cap))
        for unit, used, wanted, cap in limits:
            if cap is not None and used + wanted > cap:
                open_now = _open_today(Scope(db, call.tenant_id), session_id, now=now)
                denial = Denial(
                    *(scope, unit, used, wanted, cap),
                    open=open_now.tokens if unit == "tokens" else open_now.usd,
                    is_guess=call.is_guess and unit == "usd",
                    judged_by=call.judged_by,
                )
                raise BudgetDeniedError(denial, now=now)


def spent_today(scope: Scope, session_id: str | None = None, *, now: datetime) -> Spent:
    """Sum the charges of a tenant or a session since midnight UTC, open reservations included."""
    return _sum_today(scope, session_id, now=now)


def _open_today(scope: Scope, session_id: str | None, *, now: datetime) -> Spent:
    """Sum the open reservations among the charges of today."""
    return _sum_today(scope, session_id, LlmCall.state == CallState.RESERVED, now=now)


def _sum_today(scope: Scope, session_id: str | None, *also: ColumnElement[bool], now: datetime) -> Spent:
    query = select(
        func.coalesce(func.sum(LlmCall.charged_tokens), 0), func.coalesce(func.sum(LlmCall.charged_usd), 0)
    ).where(
        LlmCall.tenant_id == scope.tenant_id, LlmCall.created_at >= next_day(now) - timedelta(days=1), *also
    )
    if session_id is not None:
        query = query.where(LlmCall.session_id == session_id)
    tokens, usd = scope.db.execute(query).one()
    return Spent(int(tokens), Decimal(usd))


_HAS_WORK = exists().where(DueWork.tenant_id == LlmCall.tenant_id, DueWork.work_id == LlmCall.work_id)
"""Work is deleted with an erased subject, and the calls of deleted work no longer name the work."""
_HAS_SESSION = LlmCall.session_id.is_(None) | exists().where(
    Session.tenant_id == LlmCall.tenant_id, Session.session_id == LlmCall.session_id
)


def settle(scope: Scope, call_id: UUID, end: Settlement, *, now: datetime) -> bool:
    """Write down the end of a call. A call thought lost may still settle: the truth wins.

    A successful call raises the limits proved too low by the call. For a subject erased during the call, the
    numbers are kept, without the subject's name and the provider's words.

    Returns:
        False for a call no longer open, or deleted with the tenant.
    """
    known: dict[str, object] = {
        "charged_tokens": end.charged_tokens,
        "charged_usd": end.charged_usd,
    }
    values = {name: value for name, value in known.items() if value is not None}
    detail = seal_detail(scope, call_id, end.detail)
    settled = (
        update(LlmCall)
        .where(LlmCall.tenant_id == scope.tenant_id, LlmCall.call_id == call_id)
        .where(LlmCall.state.in_([CallState.RESERVED, CallState.LOST]))
        .values(
            state=CallState.FAILED if end.failure else CallState.OK,
            failure=end.failure,
            detail=case((_HAS_WORK & _HAS_SESSION, literal(detail, Text)), else_=None),
            session_id=case((_HAS_SESSION, LlmCall.session_id), else_=None),
            answered_by=end.answered_by,
            input_tokens=end.input_tokens,
            cached_tokens=end.cached_tokens,
            output_tokens=end.output_tokens,
            reasoning_tokens=end.reasoning_tokens,
            price_usd=end.price_usd,
            latency_ms=round(end.latency_s * 1000),
            settled_at=now,
            **values,
        )
    )
    model = scope.db.execute(settled.returning(LlmCall.model)).scalar_one_or_none()
    if model is not None and not end.failure and end.input_tokens:
        outdo_limits(scope, model, end.input_tokens)
    return model is not None


def sweep_lost(db: Transaction, *, older_than_s: float) -> int:
    """Close the calls left open by a crash. The charge stays: the calls may have been billed.

    Args:
        db: An open transaction.
        older_than_s: Minimum age of the calls, in seconds; no call may still run at this age.

    Returns:
        Number of closed calls.
    """
    lost = (
        update(LlmCall)
        .where(LlmCall.state == CallState.RESERVED)
        .where(LlmCall.created_at < func.now() - timedelta(seconds=older_than_s))
        .values(
            state=CallState.LOST,
            settled_at=func.now(),
            session_id=case((_HAS_SESSION, LlmCall.session_id), else_=None),
        )
    )
    return db.execute(lost).rowcount


def forget_session(scope: Scope, session_id: str) -> int:
    """Remove an erased session's name from calls, and keep the costs. Returns the number of changed calls."""
    return _forget(scope, LlmCall.session_id == session_id, session_id=None)


def forget_calls(scope: Scope, call_ids: Sequence[UUID]) -> int:
    """Remove the work and detail from calls, and keep the costs. Returns the number of changed calls."""
    chosen = LlmCall.call_id == func.any(literal(list(call_ids), ARRAY(Uuid)))
    return _forget(scope, chosen) if call_ids else 0


def _forget(scope: Scope, chosen: ColumnElement[bool], **also: None) -> int:
    """Clear the work and the provider's own words, a possible copy of the prompt; numbers stay."""
    forgotten = update(LlmCall).where(LlmCall.tenant_id == scope.tenant_id, chosen)
    return scope.db.execute(forgotten.values(work_id=None, detail=None, **also)).rowcount


_SUMMED = (
    LlmCall.input_tokens,
    LlmCall.cached_tokens,
    LlmCall.output_tokens,
    LlmCall.reasoning_tokens,
    LlmCall.price_usd,
)


def charged_today(db: Transaction, *, now: datetime) -> dict[UUID, Spent]:
    """Sum each tenant's charges since midnight UTC, open reservations included; the highest sums first."""
    tokens, usd = func.sum(LlmCall.charged_tokens), func.sum(LlmCall.charged_usd)
    query = (
        select(LlmCall.tenant_id, tokens, usd)
        .where(LlmCall.created_at >= next_day(now) - timedelta(days=1))
        .group_by(LlmCall.tenant_id)
        .order_by(usd.desc(), tokens.desc(), LlmCall.tenant_id)
    )
    return {tenant_id: Spent(int(used), Decimal(cost)) for tenant_id, used, cost in db.execute(query)}


def usage_by_day(
    db: Transaction, tenant_id: UUID | None, *, first_day: date, last_day: date
) -> list[DayUsage]:
    """List a tenant's calls by day (UTC), purpose and model, newest day first; both days included.

    Without a tenant, the calls of all tenants are added up.
    """
    whose = true() if tenant_id is None else LlmCall.tenant_id == tenant_id
    day = cast(func.timezone("UTC", LlmCall.created_at), SqlDate)
    begins = datetime(first_day.year, first_day.month, first_day.day, tzinfo=UTC)
    ends = datetime(last_day.year, last_day.month, last_day.day, tzinfo=UTC) + timedelta(days=1)

    may_be_billed = LlmCall.input_tokens.is_not(None) | (LlmCall.charged_tokens > 0)
    unpriced = LlmCall.price_usd.is_(None) & may_be_billed & (LlmCall.state != CallState.RESERVED)
    query = (
        select(
            day.label("day"),
            LlmCall.purpose,
            LlmCall.model,
            func.count().label("calls"),
            func.count().filter(LlmCall.state == CallState.FAILED).label("failed"),
            func.count().filter(LlmCall.state == CallState.LOST).label("lost"),
            *(func.coalesce(func.sum(column), 0).label(column.key) for column in _SUMMED),
            func.count().filter(unpriced).label("unpriced_calls"),
        )
        .where(whose, LlmCall.created_at >= begins, LlmCall.created_at < ends)
        .group_by(day, LlmCall.purpose, LlmCall.model)
        .order_by(day.desc(), LlmCall.purpose, LlmCall.model)
    )
    return [DayUsage(**row) for row in db.execute(query).mappings()]
