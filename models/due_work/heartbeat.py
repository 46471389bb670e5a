"""Heartbeats of the background processes, and the cause of expired leases.

Work is the likely cause only if the worker's process died alone: the pool around the process lived on and
could reach the database all the while. A pool gone as well was restarted, evicted or lost the machine; a
database
outage lets every lease expire. Such a loss is counted apart, and only many losses in a row end the work: the
work
may be the cause of the whole pool's death.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Interval, bindparam, case, delete, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.sql.elements import TextClause

from models.base import Base, Timestamp
from models.database import Transaction


class Heartbeat(Base):
    """Time of the last heartbeat of a role. The row belongs to the installation, not to a tenant."""

    __tablename__ = "heartbeat"
    __table_args__ = ({"postgresql_with": {"fillfactor": 50}},)

    role: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[Timestamp]
    detail: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    pool_seen_at: Mapped[datetime | None]
    pool_since: Mapped[datetime | None]


MODELS_IN_USE = ("summarizer", "planner")
"""Names in a worker's detail for the models in use, by purpose."""

QUEUES_HELD = "queues"
"""Name in a dispatcher's detail for the number of waiting messages by broker queue."""

ARTIFACT_PROMPT = "artifact_prompt"
"""Name in a worker's detail for the version of the artifact prompt."""


@dataclass(frozen=True)
class Sign:
    """Newest heartbeat of a role, with the detail of the process."""

    seen_at: datetime
    detail: dict[str, Any]


def beat(db: Transaction, role: str, instance: str, detail: dict[str, Any] | None = None) -> None:
    """Record that this process is at work now, with a detail."""
    row = insert(Heartbeat).values(role=role, instance=instance, seen_at=func.now(), detail=detail or {})
    db.execute(
        row.on_conflict_do_update(
            index_elements=[Heartbeat.role, Heartbeat.instance],
            set_={"seen_at": func.now(), "detail": row.excluded.detail},
        )
    )


def last_signs(db: Transaction) -> dict[str, Sign]:
    """Find the newest heartbeat of each role, from any process."""
    rows = db.execute(
        select(Heartbeat.role, Heartbeat.seen_at, Heartbeat.detail)
        .ext(distinct_on(Heartbeat.role))
        .order_by(Heartbeat.role, Heartbeat.seen_at.desc())
    )
    return {row.role: Sign(row.seen_at, row.detail) for row in rows}


AT_WORK = timedelta(seconds=60)
"""Longest age of the heartbeat of a process at work."""


def find_agreed(db: Transaction, role: str, name: str) -> str | None:
    """Find the detail on which all processes of a role at work agree.

    Returns None when processes differ, a process reports nothing, or no process is at work.
    """
    said = (
        select(Heartbeat.detail[name].astext)
        .where(Heartbeat.role == role, Heartbeat.seen_at > func.now() - AT_WORK)
        .distinct()
        .limit(2)
    )
    found = db.execute(said).scalars().all()
    return str(found[0]) if len(found) == 1 and found[0] else None


def forget_older_than(db: Transaction, age: timedelta) -> int:
    """Delete the heartbeats older than an age. Returns the number of deleted rows."""
    return db.execute(delete(Heartbeat).where(Heartbeat.seen_at < func.now() - age)).rowcount


@dataclass(frozen=True)
class LossRules:
    """The taker of a lease, and the rules for judging an expired lease.

    Attributes:
        holder: Pool of the taking worker, as named in the heartbeat.
        renew_s: Seconds between renewals of a lease, and between signs of a pool.
        max_losses: Number of unexplained losses of dead work.
        rest_s: Rest of dead work before another try, in seconds.
    """

    holder: str
    renew_s: float
    max_losses: int
    rest_s: float


_KNOWN = "due_work.holder is not null"
_RENEWED = "due_work.lease_until - :loss_lease"
_RESTARTED = f"pg_postmaster_start_time() > {_RENEWED}"
_ALONE = f"""exists (
    select from heartbeat where role = 'worker' and instance = due_work.holder
    and pool_since <= {_RENEWED}
    and (instance = :loss_taker or pool_seen_at >= {_RENEWED} + :loss_renew)
)"""
"""The pool was there before the last renewal, after the next missed renewal, and in between.

The pool that takes the work is there, even with a late sign.
"""


class LeaseEnd(Protocol):
    """Columns of work changed by the end of a lease."""

    crashes: Any
    losses: Any
    rests_until: Any


def count_end(
    work: type[LeaseEnd],
    expired: ColumnElement[bool],
    *,
    lease_s: float,
    max_crashes: int,
    rules: LossRules | None,
) -> tuple[ColumnElement[bool], dict[str, Any]]:
    """Count the end of a lease, in the statement that takes the work again.

    Args:
        work: Table of the work.
        expired: Condition for an expired lease.
        lease_s: Length of the lease, in seconds.
        max_crashes: Number of crashes of dead work.
        rules: Rules of judgement; None: each expiry was a crash, as in older code.

    Returns:
        Condition for dead work, and the changed columns.
    """
    if rules is None:
        crashes = work.crashes + case((expired, 1), else_=0)
        return crashes >= max_crashes, {"crashes": crashes}
    crashed = f"(not {_KNOWN} or (not {_RESTARTED} and {_ALONE}))"
    lost = f"({_KNOWN} and not {_RESTARTED} and not {_ALONE})"
    crashes = work.crashes + case((expired & _bound(crashed, lease_s, rules), 1), else_=0)
    losses = work.losses + case((expired & _bound(lost, lease_s, rules), 1), else_=0)
    dies = or_(crashes >= max_crashes, losses >= rules.max_losses)
    rest = case((dies, func.now() + timedelta(seconds=rules.rest_s)), else_=work.rests_until)
    return dies, {"crashes": crashes, "losses": losses, "holder": rules.holder, "rests_until": rest}


def _bound(condition: str, lease_s: float, rules: LossRules) -> TextClause:
    return text(condition).bindparams(
        bindparam("loss_lease", timedelta(seconds=lease_s), type_=Interval),
        bindparam("loss_renew", timedelta(seconds=rules.renew_s), type_=Interval),
        loss_taker=rules.holder,
    )


def show_pool(db: Transaction, instance: str, *, gap_s: float, anew: bool = False) -> None:
    """Record that a worker's parent process is alive and reaches the database.

    Args:
        db: A transaction.
        instance: The worker, as named in the heartbeat.
        gap_s: Longest silence, in seconds, within a continuous life of the pool.
        anew: True if the parent has only just started.
    """
    silent = "pool_seen_at is null or pool_seen_at < now() - :gap or :anew"
    since = text(f"case when {silent} then now() else pool_since end").bindparams(
        bindparam("gap", timedelta(seconds=gap_s), type_=Interval), anew=anew
    )
    db.execute(
        update(Heartbeat)
        .where(Heartbeat.role == "worker", Heartbeat.instance == instance)
        .values(pool_since=since, pool_seen_at=text("now()"))
    )
