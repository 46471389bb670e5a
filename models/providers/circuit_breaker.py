"""The circuit breaker of each model, with a readable reason, and the rate limit of calls.

A provider's credentials belong to the installation: a bad key or an empty account stops every tenant at once.
So the breaker is infrastructure, keyed by the model alone, without a tenant.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import CheckConstraint, case, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from context.errors import AfterturnError
from models.base import Base, Timestamp
from models.database import Transaction
from models.tenants.rate_limit import Rate, take


class GateState(StrEnum):
    """State of a model's breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class ProviderGate(Base):
    """Failures of a model since the last answer. A model without a row is well."""

    __tablename__ = "provider_gate"
    __table_args__ = (
        CheckConstraint("failures >= 1", name="failures_count_from_1"),
        CheckConstraint("probe_until is null or open_until is not null", name="only_an_open_gate_is_probed"),
        {"postgresql_with": {"fillfactor": 50}},
    )

    model: Mapped[str] = mapped_column(primary_key=True)
    failures: Mapped[int]
    open_until: Mapped[datetime | None]
    probe_until: Mapped[datetime | None]
    reason: Mapped[str]
    failed_at: Mapped[Timestamp]


@dataclass(frozen=True)
class Gate:
    """State of a model's breaker, for readiness and for people."""

    model: str
    state: GateState
    failures: int
    reason: str
    until: datetime | None


@dataclass(frozen=True)
class BreakerRules:
    """Rules for opening a breaker, times in seconds, all > 0."""

    failures: int
    open_s: float
    open_max_s: float
    park_s: float

    def open_for_s(self, failures_in_a_row: int) -> float:
        """Compute the opening time in seconds: 0 below the failure limit, then doubling up to the maximum."""
        over = failures_in_a_row - self.failures
        return 0.0 if over < 0 else float(min(self.open_s * 2 ** min(over, 30), self.open_max_s))


class ProviderParkedError(AfterturnError):
    """The model cannot be called now: the breaker is open.

    Attributes:
        model: The model.
        until: Time of the next possible call.
        reason: Reason of the open breaker.
        retry_in_s: Seconds until the next possible call, > 0.
        gates: Models with open breakers in the way: once any of the breakers closes, a call is worthwhile.
    """

    code = "provider-parked"

    def __init__(self, model: str, *, until: datetime, reason: str, now: datetime) -> None:
        """State the end of the wait and the reason."""
        super().__init__(f"{model} is parked until {until:%Y-%m-%dT%H:%M:%SZ}: {reason}", model=model)
        self.model = model
        self.until = until
        self.reason = reason
        self.retry_in_s = max((until - now).total_seconds(), 1.0)
        self.gates: tuple[str, ...] = (model,)


def admit(db: Transaction, model: str, *, now: datetime, probe_s: float) -> None:
    """Let a call through, or raise with the end of the wait.

    After the opening time, a single caller is let through as the probe; other callers wait for the probe's
    end. A dead probe holds other callers no longer than `probe_s`.

    Raises:
        ProviderParkedError: The breaker is open, or another caller is probing.
    """
    row = db.execute(select(ProviderGate.__table__).where(ProviderGate.model == model)).one_or_none()
    if row is None or row.open_until is None:
        return
    probing = (
        update(ProviderGate)
        .where(ProviderGate.model == model, ProviderGate.open_until <= now)
        .where(or_(ProviderGate.probe_until.is_(None), ProviderGate.probe_until <= now))
        .values(probe_until=now + timedelta(seconds=probe_s))
    )
    if db.execute(probing).rowcount == 0:
        until = max(row.open_until, row.probe_until or now)
        raise ProviderParkedError(model, until=until, reason=row.reason, now=now)


def note_success(db: Transaction, model: str, *, began_at: datetime) -> None:
    """Record an answer of the model: failures before the start of the call are cleared.

    A call started before another call's failure proves nothing about the time after the failure: otherwise a
    limit just set by a provider would be lifted by late answers.

    Args:
        db: An open transaction.
        model: The answering model.
        began_at: Start of the call, by the same clock as the failures.
    """
    db.execute(delete(ProviderGate).where(ProviderGate.model == model, ProviderGate.failed_at <= began_at))


def note_failure(
    db: Transaction,
    model: str,
    *,
    reason: str,
    now: datetime,
    rules: BreakerRules,
    parks: bool = False,
    retry_after_s: float | None = None,
) -> datetime | None:
    """Count a failure of the provider and open the breaker according to the rules.

    Args:
        db: An open transaction.
        model: The failed model.
        reason: Reason for people, without keys and without text of users.
        now: Time of the failure.
        rules: Rules for opening.
        parks: True if only an operator can mend the failure; opens at once, for long.
        retry_after_s: Pause requested by the provider, in seconds; opens at once.

    Returns:
        End of the opening time; None while the breaker stays closed.
    """
    first = insert(ProviderGate).values(model=model, failures=1, reason=reason, failed_at=now)
    counted = first.on_conflict_do_update(
        index_elements=[ProviderGate.model],
        set_={"failures": ProviderGate.failures + 1, "reason": reason, "failed_at": now, "probe_until": None},
    ).returning(ProviderGate.failures, ProviderGate.open_until)
    failures, was_open_until = db.execute(counted).one()
    open_s = max(rules.park_s if parks else rules.open_for_s(failures), retry_after_s or 0.0)
    if was_open_until is not None:
        open_s = max(open_s, rules.open_s)
    if open_s <= 0:
        return None
    until = func.greatest(ProviderGate.open_until, now + timedelta(seconds=open_s))
    opened = update(ProviderGate).where(ProviderGate.model == model).values(open_until=until)
    return db.execute(opened.returning(ProviderGate.open_until)).scalar_one()


def list_gates(db: Transaction, *, now: datetime) -> list[Gate]:
    """List every model with a failure since the last answer, by name."""
    state = case(
        (ProviderGate.open_until.is_(None), GateState.CLOSED),
        (ProviderGate.open_until > now, GateState.OPEN),
        else_=GateState.HALF_OPEN,
    ).label("state")
    rows = db.execute(select(ProviderGate.__table__, state).order_by(ProviderGate.model))
    return [Gate(row.model, GateState(row.state), row.failures, row.reason, row.open_until) for row in rows]


def end_wait(db: Transaction, model: str) -> bool:
    """Let a call through at once, as a probe of the model. Returns False for a closed breaker."""
    over = func.least(ProviderGate.open_until, func.now())
    ended = update(ProviderGate).where(ProviderGate.model == model, ProviderGate.open_until.is_not(None))
    return db.execute(ended.values(open_until=over, probe_until=None)).rowcount == 1


def reopen(db: Transaction, model: str) -> bool:
    """Close a model's breaker at once, after a mended key or account. Returns False without failures."""
    return db.execute(delete(ProviderGate).where(ProviderGate.model == model)).rowcount == 1


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
