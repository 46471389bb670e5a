"""What operators see and do when work waits: what was put off or given up, and another try for it."""

from uuid import UUID

from sqlalchemy import func, or_, select, update

from models.dead_work import redrive
from models.session import Transaction
from models.work import DueWork, WorkState

_PUT_OFF = (
    (DueWork.state == WorkState.READY) & (DueWork.due_at > func.now()) & DueWork.last_error.is_not(None)
)


def list_stuck(db: Transaction, tenant_id: UUID) -> list[DueWork]:
    """Work that was given up, and work that waits after a failure; what waits longest comes last."""
    rows = db.execute(
        select(DueWork.__table__)
        .where(DueWork.tenant_id == tenant_id, or_(DueWork.state == WorkState.DEAD, _PUT_OFF))
        .order_by(DueWork.due_at)
    )
    return [DueWork(**row) for row in rows.mappings()]


def retry_now(db: Transaction, tenant_id: UUID) -> int:
    """Have all of it tried at once. Returns how many pieces of work that are."""
    hastened = db.execute(
        update(DueWork)
        .where(DueWork.tenant_id == tenant_id, _PUT_OFF)
        .values(due_at=func.now(), hinted_until=None)
    ).rowcount
    return hastened + redrive(db, tenant_id)


def drop_dead(db: Transaction, tenant_id: UUID, work_id: int) -> DueWork | None:
    """End dead work for good; what asks for it later begins anew, with no attempt counted.

    Returns:
        The work as it was; None where the tenant has no such dead work, and nothing was changed.
    """
    mine = (DueWork.tenant_id == tenant_id, DueWork.work_id == work_id, DueWork.state == WorkState.DEAD)
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
            awaited=False,
            hinted_until=None,
            last_error=None,
            last_outcome="dropped",
            finished_at=func.now(),
            refusals=0,
            rests_until=None,
            refused_because=None,
        )
    )
    return DueWork(**row)
