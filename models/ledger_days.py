"""Costs of model calls by day: from single calls still kept, and from the sums of older calls."""

from dataclasses import fields
from datetime import date
from decimal import Decimal
from uuid import UUID

from sqlalchemy import BigInteger, Date, Numeric, select, true
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey
from models.ledger import DayUsage, usage_by_day
from models.session import Transaction


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
