"""How often a model is asked: a bucket of calls that fills with time, one for the whole installation."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.rate import Rate, take
from models.base import Base, Timestamp
from models.provider import ProviderParkedError
from models.session import Transaction

BURST_S = 10
"""A bucket holds the calls of so many seconds, and at least one."""


class ProviderPace(Base):
    """When a model's bucket is full, and when the last who was sent away comes back."""

    __tablename__ = "provider_pace"
    __table_args__ = ({"postgresql_with": {"fillfactor": 70}},)

    model: Mapped[str] = mapped_column(primary_key=True)
    full_at: Mapped[Timestamp]
    next_at: Mapped[Timestamp]


class ProviderPacedError(ProviderParkedError):
    """The model is well, and was asked as often as it may be: no other is asked in its place."""

    code = "provider-paced"

    def __init__(self, model: str, *, until: datetime, reason: str, now: datetime) -> None:
        """Say until when; no gate stands in the way."""
        super().__init__(model, until=until, reason=reason, now=now)
        self.gates = ()


def take_turn(db: Transaction, model: str, *, per_minute: int, now: datetime) -> datetime | None:
    """Take one of the calls that a model may be asked in a minute.

    Those who come in vain are sent away one behind the other: they do not come back together.

    Args:
        db: A transaction that is committed whatever the answer is.
        model: Which model.
        per_minute: How often it may be asked, >= 1.
        now: The time, by the database's clock.

    Returns:
        None with a call; else when to come again.
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
