"""Rate limit of calls to a model: a token bucket for the whole installation."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.providers.rate_limit import Rate, take
from models.base import Base, Timestamp
from models.database import Transaction
from models.providers.circuit_breaker import ProviderParkedError

BURST_S = 10
"""Capacity of a bucket in seconds of calls, at least a single call."""


class ProviderPace(Base):
    """Time of a model's full bucket, and the return time of the last rejected caller."""

    __tablename__ = "provider_pace"
    __table_args__ = ({"postgresql_with": {"fillfactor": 70}},)

    model: Mapped[str] = mapped_column(primary_key=True)
    full_at: Mapped[Timestamp]
    next_at: Mapped[Timestamp]


class ProviderPacedError(ProviderParkedError):
    """The model is well, but at the maximum rate: no other model is called instead."""

    code = "provider-paced"

    def __init__(self, model: str, *, until: datetime, reason: str, now: datetime) -> None:
        """State the end of the wait; no breaker is in the way."""
        super().__init__(model, until=until, reason=reason, now=now)
        self.gates = ()


def take_turn(db: Transaction, model: str, *, per_minute: int, now: datetime) -> datetime | None:
    """Take a call from a model's bucket.

    Rejected callers get return times one behind the other, so that callers do not return together.

    Args:
        db: A transaction, committed for any answer.
        model: The model.
        per_minute: Maximum calls a minute, >= 1.
        now: Current time, by the database's clock.

    Returns:
        The return time; None with a call.
    """
    rate = Rate(per_minute / 60, max(per_minute * BURST_S // 60, 1))
    db.execute(insert(ProviderPace).values(model=model, full_at=now, next_at=now).on_conflict_do_nothing())
    of_model = ProviderPace.model == model
    row = db.execute(
        select(ProviderPace.full_at, ProviderPace.next_at).where(of_model).with_for_update()
    ).one()
    full_at_s, wait_s = take(row.full_at.timestamp(), now.timestamp(), rate)
    if wait_s == 0:
        db.execute(
            update(ProviderPace).where(of_model).values(full_at=datetime.fromtimestamp(full_at_s, UTC))
        )
        return None
    until: datetime = max(now + timedelta(seconds=wait_s), row.next_at)
    next_at = until + timedelta(seconds=rate.interval_s)
    db.execute(update(ProviderPace).where(of_model).values(next_at=next_at))
    return until
