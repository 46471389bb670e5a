"""The ledger by day, by call and by plan."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import takewhile
from uuid import UUID

from sqlalchemy import BigInteger, Date, Numeric, func, select, true
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey
from models.database import Transaction
from models.ledger.call import CallState, DayUsage, LlmCall, usage_by_day
from models.scope import Scope


def find_prices(scope: Scope, call_ids: Iterable[UUID]) -> dict[UUID, Decimal | None]:
    """Find the price of each call in US dollars; None for an unknown price and for a missing call."""
    wanted = sorted(set(call_ids))
    if not wanted:
        return {}
    rows = scope.db.execute(
        select(LlmCall.call_id, LlmCall.price_usd).where(
            LlmCall.tenant_id == scope.tenant_id, LlmCall.call_id.in_(wanted)
        )
    )
    return {**dict.fromkeys(wanted), **{row[0]: row[1] for row in rows}}


class LlmCallDay(Base):
    """Sums of calls no longer kept singly."""

    __tablename__ = "llm_call_day"

    tenant_id: Mapped[TenantKey]
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    purpose: Mapped[str] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    calls: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    lost: Mapped[int] = mapped_column(BigInteger)
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    cached_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    reasoning_tokens: Mapped[int] = mapped_column(BigInteger)
    price_usd: Mapped[Decimal] = mapped_column(Numeric(18, 10))
    unpriced_calls: Mapped[int] = mapped_column(BigInteger)


_KEY = ("day", "purpose", "model")
_SUMS = tuple(field.name for field in fields(DayUsage) if field.name not in _KEY)


def all_usage_by_day(
    db: Transaction, tenant_id: UUID | None, *, first_day: date, last_day: date
) -> list[DayUsage]:
    """List calls of a tenant, or of all, by day (UTC), purpose and model, newest day first.

    Both days are included. A call is in either of the two tables at any time; a day may have calls in both.
    """
    columns = [getattr(LlmCallDay, field.name) for field in fields(DayUsage)]
    whose = true() if tenant_id is None else LlmCallDay.tenant_id == tenant_id
    folded = select(*columns).where(whose, LlmCallDay.day >= first_day, LlmCallDay.day <= last_day)
    rows = usage_by_day(db, tenant_id, first_day=first_day, last_day=last_day)
    rows += [DayUsage(**row) for row in db.execute(folded).mappings()]
    summed: dict[tuple[object, ...], DayUsage] = {}
    for row in rows:
        key = tuple(getattr(row, name) for name in _KEY)
        summed[key] = _sum(summed[key], row) if key in summed else row
    return sorted(summed.values(), key=lambda row: (-row.day.toordinal(), row.purpose, row.model))


def _sum(one: DayUsage, other: DayUsage) -> DayUsage:
    sums = {name: getattr(one, name) + getattr(other, name) for name in _SUMS}
    return DayUsage(day=one.day, purpose=one.purpose, model=one.model, **sums)


@dataclass(frozen=True)
class WorkCalls:
    """The calls of a piece of work.

    Attributes:
        call_ids: Rows in the ledger, oldest first.
        failed: Number of calls without a usable answer.
        input_tokens: Known input tokens of all calls.
        cached_tokens: Input tokens from a cache.
        output_tokens: Known output tokens of all calls.
        reasoning_tokens: Output tokens of thinking.
        price_usd: Price of all calls; None when the price of any call with tokens is unknown.
    """

    call_ids: tuple[UUID, ...] = ()
    failed: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    price_usd: Decimal | None = Decimal(0)


def calls_of_work(scope: Scope, work_id: int, *, since: datetime) -> WorkCalls:
    """Add up the calls of a piece of work.

    Args:
        scope: The transaction and its tenant.
        work_id: The work.
        since: Time of the request for the work: older calls are ignored.
    """
    rows = scope.db.execute(
        select(LlmCall.__table__)
        .where(LlmCall.tenant_id == scope.tenant_id, LlmCall.created_at >= since, LlmCall.work_id == work_id)
        .order_by(LlmCall.created_at, LlmCall.call_id)
    ).all()
    prices = [
        row.price_usd for row in rows if row.price_usd is not None or row.input_tokens or row.output_tokens
    ]
    return WorkCalls(
        call_ids=tuple(row.call_id for row in rows),
        failed=sum(row.state in (CallState.FAILED, CallState.LOST) for row in rows),
        input_tokens=sum(row.input_tokens or 0 for row in rows),
        cached_tokens=sum(row.cached_tokens or 0 for row in rows),
        output_tokens=sum(row.output_tokens or 0 for row in rows),
        reasoning_tokens=sum(row.reasoning_tokens or 0 for row in rows),
        price_usd=None if None in prices else sum((price for price in prices if price), Decimal(0)),
    )


NEWEST_CALLS = 20
"""Number of the newest calls of a model, and of a piece of work, searched for failures in a row."""


def failures_in_a_row(
    scope: Scope, model: str, work_id: int | None, failure: str, *, passed_over: Iterable[str], now: datetime
) -> int:
    """Count a tenant's newest calls of a model that all ended with one failure, within a day.

    The calls of the same work count apart too, since many short calls of other work may succeed in between.

    Args:
        scope: The transaction and its tenant.
        model: The model.
        work_id: The work; None for a call without work.
        failure: The failure.
        passed_over: Failures that neither count nor end the count.
        now: The time.

    Returns:
        The larger of both numbers, `NEWEST_CALLS` at most.
    """
    newest = (
        select(LlmCall.failure)
        .where(LlmCall.tenant_id == scope.tenant_id, LlmCall.created_at >= now - timedelta(days=1))
        .where(LlmCall.model == model, LlmCall.state.in_([CallState.OK, CallState.FAILED]))
        .where(func.coalesce(LlmCall.failure, "").not_in(list(passed_over)))
        .order_by(LlmCall.created_at.desc(), LlmCall.call_id.desc())
        .limit(NEWEST_CALLS)
    )
    either = (newest, newest.where(LlmCall.work_id == work_id))
    return max(_leading(scope.db.scalars(calls), failure) for calls in either)


def _leading(ends: Iterable[str | None], failure: str) -> int:
    return sum(1 for _ in takewhile(lambda end: end == failure, ends))
