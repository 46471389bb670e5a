"""When old things were last looked for: the row of that work says, whichever worker did it."""

from dataclasses import dataclass

from sqlalchemy import text

from models.retention_settings import retention_settings
from models.session import Transaction

OPERATOR = "operator"
"""The tenant of work that belongs to the installation."""

RETENTION = "retention"
"""The key of the work that deletes what is old."""

RUNS_MISSED = 3
GRACE_S = 3_600.0


@dataclass(frozen=True)
class LastRun:
    """How the work that deletes what is old gets on.

    Attributes:
        since_s: Seconds since a run last ended; since the work was first asked for, where none ever did.
        outcome: What came of that run; None where none ever ended.
        every_s: How often it is asked for, in seconds.
    """

    since_s: float
    outcome: str | None
    every_s: float

    @property
    def is_late(self) -> bool:
        """Whether several runs in a row did not end; the alert rules say the same."""
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
    """How the last run went; None where nothing ever asked for one."""
    row = db.execute(_LAST_RUN, {"operator": OPERATOR, "key": RETENTION}).one_or_none()
    if row is None:
        return None
    return LastRun(max(row.since_s, 0.0), row.outcome, retention_settings().retain_every_s)
