"""Caps on spending, and the caps by which running workers judge."""

from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import text

from context.errors import AfterturnError
from models.database import Transaction
from models.due_work.heartbeat import AT_WORK


@dataclass(frozen=True)
class Caps:
    """Maximum charges in a day; None is no cap."""

    tenant_tokens_per_day: int | None = None
    session_tokens_per_day: int | None = None
    tenant_usd_per_day: Decimal | None = None
    session_usd_per_day: Decimal | None = None

    @property
    def any_set(self) -> bool:
        """True when there is a cap to check."""
        return self != Caps()


def next_day(now: datetime) -> datetime:
    """Compute the next midnight in UTC: the time when the caps are whole again."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=1)


@dataclass(frozen=True)
class Denial:
    """A denial by a cap: scope (`tenant`, `session`), unit (`tokens`, `usd`) and the numbers.

    `open` is the part of `used` reserved by calls still under way: those calls may take less. `is_guess`
    marks a guessed `wanted`, for want of a price; `judged_by` is the fingerprint of the settings behind the
    decision.
    """

    scope: str
    unit: str
    used: int | Decimal
    wanted: int | Decimal
    cap: int | Decimal
    open: int | Decimal = 0
    is_guess: bool = False
    judged_by: str = ""

    @property
    def needs(self) -> int | Decimal:
        """Need of the call: free room in a tenant's cap, shared with other work, or a session cap's size."""
        return self.wanted if self.scope == "tenant" else self.used - self.open + self.wanted


class BudgetDeniedError(AfterturnError):
    """A call would exceed a cap. Nothing was charged; the work waits.

    Attributes:
        denial: The cap and the numbers.
        retry_at: Latest time of success; None when the call alone is larger than the cap.
        retry_in_s: Waiting time of the work: until `retry_at`, or a day in which somebody may raise the cap.
            With room earlier, the work is brought forward.
    """

    code = "budget-denied"

    def __init__(self, denial: Denial, *, now: datetime) -> None:
        """State the room left and the time of new room."""
        retry_at = next_day(now) if denial.wanted <= denial.cap else None
        when = f"again at {retry_at:%Y-%m-%dT%H:%M:%SZ}" if retry_at else "never"
        sooner = ", sooner if there is room" if retry_at else " under this cap, soon under a larger one"
        guess = ", a guess for want of a price" if denial.is_guess else ""
        left = max(denial.cap - denial.used, 0)
        super().__init__(
            f"the {denial.scope}'s cap of {denial.cap} {denial.unit} a day has {left} left "
            f"and the call may take {denial.wanted}{guess}: {when}{sooner}",
            scope=denial.scope,
            unit=denial.unit,
            used=denial.used,
            wanted=denial.wanted,
            cap=denial.cap,
            retry_at=retry_at,
        )
        self.denial = denial
        self.retry_at = retry_at
        self.retry_in_s = ((retry_at or now + timedelta(days=1)) - now).total_seconds()


DETAIL = "caps"
"""Name of the caps in the heartbeat of a worker."""


class SaidBy(StrEnum):
    """Source of the caps."""

    WORKERS = "workers"
    OWN_SETTINGS = "own-settings"


@dataclass(frozen=True)
class CapsInForce:
    """Caps and the source of the caps.

    Attributes:
        caps: Caps of the worker seen last, or of the asking process' settings without any worker's report.
        said_by: Source of the caps.
        differ: True if workers at work report different caps.
    """

    caps: Caps
    said_by: SaidBy
    differ: bool = False


def told(caps: Caps) -> dict[str, str | None]:
    """Write caps as a worker reports caps: exact, None for no cap."""
    return {name: None if cap is None else str(cap) for name, cap in asdict(caps).items()}


def _heard(said: dict[str, Any]) -> Caps:
    caps: dict[str, Any] = {}
    for name in (field.name for field in fields(Caps)):
        cap = said.get(name)
        caps[name] = cap if cap is None else int(cap) if "tokens" in name else Decimal(cap)
    return Caps(**caps)


_SAID = text(
    """
    select detail -> :detail as caps, seen_at > now() - :at_work as is_at_work from heartbeat
    where role = 'worker' and detail ? :detail order by seen_at desc
    """
)


def find_caps(db: Transaction, own: Caps) -> CapsInForce:
    """Find the caps in force, as reported by workers.

    Args:
        db: A connection.
        own: Caps of this process' settings, used without any worker's report.
    """
    said = db.execute(_SAID, {"detail": DETAIL, "at_work": AT_WORK}).all()
    if not said:
        return CapsInForce(own, SaidBy.OWN_SETTINGS)
    differ = any(one.is_at_work and one.caps != said[0].caps for one in said)
    return CapsInForce(_heard(said[0].caps), SaidBy.WORKERS, differ)
