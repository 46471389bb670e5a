"""What operators see and do when work waits: what was put off or given up, and another try for it."""

from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, true, update

from models.dead_work import redrive
from models.session import Transaction
from models.work import DueWork, WorkState
from models.work_errors import readable

_PUT_OFF = (
    (DueWork.state == WorkState.READY) & (DueWork.due_at > func.now()) & DueWork.last_error.is_not(None)
)


def _of(tenant_id: UUID | None) -> ColumnElement[bool]:
    return true() if tenant_id is None else DueWork.tenant_id == tenant_id


def list_stuck(db: Transaction, tenant_id: UUID | None = None, *, most: int | None = None) -> list[DueWork]:
    """Work that was given up, then work that waits after a failure; of both, what waits longest comes last.

    Args:
        db: A transaction.
        tenant_id: Whose work; None for everybody's.
        most: The most of it; None for all.
    """
    rows = db.execute(
        select(DueWork.__table__)
        .where(_of(tenant_id), or_(DueWork.state == WorkState.DEAD, _PUT_OFF))
        .order_by((DueWork.state == WorkState.DEAD).desc(), DueWork.due_at)
        .limit(most)
    )
    return [DueWork(**readable(db, dict(row))) for row in rows.mappings()]


def count_stuck(db: Transaction, tenant_id: UUID | None = None) -> int:
    """How many pieces of work `list_stuck` has."""
    stuck = select(func.count()).where(_of(tenant_id), or_(DueWork.state == WorkState.DEAD, _PUT_OFF))
    return int(db.execute(stuck).scalar_one())


def retry_now(db: Transaction, tenant_id: UUID | None = None) -> int:
    """Have all of it tried at once. Returns how many pieces of work that are.

    Args:
        db: A transaction.
        tenant_id: Whose work; None for everybody's.
    """
    hastened = db.execute(update(DueWork).where(_of(tenant_id), _PUT_OFF).values(due_at=func.now())).rowcount
    return hastened + redrive(db, tenant_id)


def drop_dead(db: Transaction, tenant_id: UUID | None, work_id: int) -> DueWork | None:
    """End dead work for good; what asks for it later begins anew, with no attempt counted.

    Args:
        db: A transaction.
        tenant_id: Whose work it must be; None where it may be anybody's.
        work_id: Its number.

    Returns:
        The work as it was; None where there is no such dead work, and nothing was changed.
    """
    mine = (_of(tenant_id), DueWork.work_id == work_id, DueWork.state == WorkState.DEAD)
    row = db.execute(select(DueWork.__table__).where(*mine).with_for_update()).mappings().one_or_none()
    if row is None:
        return None
    db.execute(
        update(DueWork)
        .where(*mine)
        .values(
            state=WorkState.IDLE,
            attempts=0,
            crashes=0,
            losses=0,
            awaited=False,
            last_error=None,
            last_outcome="dropped",
            finished_at=func.now(),
            refusals=0,
            rests_until=None,
            refused_because=None,
        )
    )
    return DueWork(**readable(db, dict(row)))
