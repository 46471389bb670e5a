"""What operators see and do when work waits: what was put off or given up, and another try for it."""

from uuid import UUID

from sqlalchemy import func, or_, select, update

from models.session import Transaction
from models.work import DueWork, WorkState, redrive

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
