"""Work whose lease ran out: did it kill its worker, or did the worker go for reasons of its own?

Only where a worker's process died alone is its work the likely cause: the pool around it lived on and could
reach the database all the while. A pool that is gone as well was restarted, evicted or lost its machine; a
database that was away let every lease run out. Such a loss is counted apart, and only many of them in a row
end the work: it may be what takes the whole pool down.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Interval, bindparam, case, func, or_, text, update
from sqlalchemy.sql.elements import TextClause

from models.heartbeat import Heartbeat
from models.session import Transaction


@dataclass(frozen=True)
class LossRules:
    """Who takes a lease, and how the end of one that ran out is judged.

    Attributes:
        holder: The pool of the worker that takes it, as its heartbeat names it.
        renew_s: How often a lease is renewed, and a pool shows that it is there.
        max_losses: Work that was lost so often for reasons that nobody knows is dead.
        rest_s: How long dead work rests before it may be tried again.
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
"""The pool was there before the last renewal, after the next one was missed, and in between.

The pool that takes the work is there, however late it could say so.
"""


class Counted(Protocol):
    """The columns of work that the end of a lease changes."""

    crashes: Any
    losses: Any
    rests_until: Any


def count_end(
    work: type[Counted],
    expired: ColumnElement[bool],
    *,
    lease_s: float,
    max_crashes: int,
    rules: LossRules | None,
) -> tuple[ColumnElement[bool], dict[str, Any]]:
    """Count the end of a lease, in the statement that takes the work anew.

    Args:
        work: Its table.
        expired: Whether a lease ran out.
        lease_s: How long the lease was.
        max_crashes: Work that crashed so often is dead.
        rules: How it is judged; None: each was a crash, as is each of older code.

    Returns:
        Whether the work is dead by it, and the columns that change.
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
    """Say that the processes of a worker have a parent, which reaches the database.

    Args:
        db: A transaction.
        instance: The worker, as its heartbeat names it.
        gap_s: After a longer silence nobody can tell what went on meanwhile.
        anew: Whether the parent has only just started.
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
