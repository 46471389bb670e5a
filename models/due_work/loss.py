"""Expired leases: did the work kill the worker, or was the worker lost for other reasons?

Work is the likely cause only if the worker's process died alone: the pool around the process lived on and
could reach the database all the while. A pool gone as well was restarted, evicted or lost the machine; a
database
outage lets every lease expire. Such a loss is counted apart, and only many losses in a row end the work: the
work
may be the cause of the whole pool's death.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Interval, bindparam, case, func, or_, text, update
from sqlalchemy.sql.elements import TextClause

from models.database import Transaction
from models.due_work.heartbeat import Heartbeat


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
