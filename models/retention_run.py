"""Last run of retention: read from the row of the work, for any worker."""

from dataclasses import dataclass

from sqlalchemy import text

from models.retention_settings import retention_settings
from models.session import Transaction

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
