"""Retention policies and their defaults, and the runs that apply them."""

from dataclasses import asdict, dataclass, fields
from datetime import date, datetime

from sqlalchemy import BigInteger, CheckConstraint, Date, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, TenantKey
from models.database import Transaction
from models.retention.settings import RetentionSettings, retention_settings
from models.scope import Scope


class StoredRetention(Base):
    """A tenant's own wishes; unset wishes follow the settings."""

    __tablename__ = "retention"
    __table_args__ = (
        CheckConstraint(
            "session_days >= 0 and plan_days >= 0 and ledger_days >= 0 and summary_versions >= 0",
            name="counts_are_counts",
        ),
        CheckConstraint("ledger_days is null or ledger_days <> 1", name="today_stays"),
    )

    tenant_id: Mapped[TenantKey]
    session_days: Mapped[int | None]
    plan_days: Mapped[int | None]
    ledger_days: Mapped[int | None]
    summary_versions: Mapped[int | None]
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class RetentionLog(Base):
    """Number of rows deleted for age on a day: numbers alone."""

    __tablename__ = "retention_log"
    __table_args__ = (CheckConstraint("rows > 0", name="something_went"),)

    tenant_id: Mapped[TenantKey]
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    rows: Mapped[int] = mapped_column(BigInteger)


@dataclass(frozen=True)
class Retention:
    """Retention times; 0 is for ever, None follows the settings.

    Attributes:
        session_days: Days without a turn until a session is deleted, with all derived data.
        plan_days: Days until a plan is deleted.
        ledger_days: Days until calls become sums by day; 0, or 2 and more.
        summary_versions: Number of kept versions of a session's summary.
    """

    session_days: int | None = None
    plan_days: int | None = None
    ledger_days: int | None = None
    summary_versions: int | None = None

    def over(self, settings: RetentionSettings) -> "Retention":
        """Combine the wishes with the settings into the retention in force."""
        general = {
            "session_days": settings.retain_session_days,
            "plan_days": settings.retain_plan_days,
            "ledger_days": settings.retain_ledger_days,
            "summary_versions": settings.retain_summary_versions,
        }
        own = {name: value for name, value in asdict(self).items() if value is not None}
        return Retention(**{**general, **own})


NAMES = tuple(field.name for field in fields(Retention))


def find_retention(scope: Scope) -> Retention:
    """Find a tenant's own wishes; all None without wishes."""
    columns = [getattr(StoredRetention, name) for name in NAMES]
    row = scope.db.execute(select(*columns).where(StoredRetention.tenant_id == scope.tenant_id)).one_or_none()
    return Retention(*row) if row else Retention()


def put_retention(scope: Scope, wishes: Retention) -> None:
    """Replace a tenant's wishes."""
    row = insert(StoredRetention).values(tenant_id=scope.tenant_id, **asdict(wishes))
    scope.db.execute(
        row.on_conflict_do_update(
            index_elements=[StoredRetention.tenant_id], set_={**asdict(wishes), "updated_at": func.now()}
        )
    )


def note_gone(scope: Scope, name: str, rows: int) -> None:
    """Count deleted rows, in the transaction of the deletion."""
    if rows:
        scope.execute(_NOTE, name=name, rows=rows)


_NOTE = text(
    """
    insert into retention_log (tenant_id, day, name, rows)
    values (:tenant_id, (now() at time zone 'UTC')::date, :name, :rows)
    on conflict (tenant_id, day, name) do update set rows = retention_log.rows + excluded.rows
    """
)


def list_gone(scope: Scope, *, days: int) -> list[tuple[date, str, int]]:
    """List the deletions of the last days, newest first: day, name, rows."""
    found = scope.execute(_GONE, days=days)
    return [(row.day, row.name, row.rows) for row in found]


_GONE = text(
    """
    select day, name, rows from retention_log
    where tenant_id = :tenant_id and day > (now() at time zone 'UTC')::date - :days
    order by day desc, name
    """
)


OPERATOR = "operator"
"""Tenant of the installation's own work."""

RETENTION = "retention"
"""Key of the retention work."""

RUNS_MISSED = 3
GRACE_S = 3_600.0


@dataclass(frozen=True)
class LastRun:
    """Progress of the retention work.

    Attributes:
        since_s: Seconds since the end of the last run; before the first end, since the first request.
        outcome: Outcome of the last run; None before the first end.
        every_s: Seconds between requests.
    """

    since_s: float
    outcome: str | None
    every_s: float

    @property
    def is_late(self) -> bool:
        """True when several runs in a row did not end; the alert rules use the same bound."""
        return self.since_s > RUNS_MISSED * self.every_s + GRACE_S


_LAST_RUN = text(
    """
    select extract(epoch from now() - coalesce(work.finished_at, work.created_at))::float8 as since_s,
        case when work.finished_at is not null then work.last_outcome end as outcome
    from tenant join due_work as work using (tenant_id)
    where tenant.name = :operator and work.kind = 'sweep' and work.key = :key
    """
)


def find_last_run(db: Transaction) -> LastRun | None:
    """Find the last run of retention; returns None when no run was ever requested."""
    row = db.execute(_LAST_RUN, {"operator": OPERATOR, "key": RETENTION}).one_or_none()
    if row is None:
        return None
    return LastRun(max(row.since_s, 0.0), row.outcome, retention_settings().retain_every_s)
