"""Work that came to nothing: seen, and given another life."""

from uuid import UUID

from sqlalchemy import func, select, update

from models.session import Transaction
from models.work import DueWork, WorkState


def list_work(db: Transaction, tenant_id: UUID, state: WorkState) -> list[DueWork]:
    """All work of a tenant in one state, longest due first."""
    rows = db.execute(
        select(DueWork.__table__)
        .where(DueWork.tenant_id == tenant_id, DueWork.state == state)
        .order_by(DueWork.due_at)
    )
    return [DueWork(**row) for row in rows.mappings()]


def redrive(db: Transaction, tenant_id: UUID, work_ids: list[int] | None = None) -> int:
    """Give dead work another life; all of the tenant's, or the named ones. Returns how many."""
    dead = update(DueWork).where(DueWork.tenant_id == tenant_id, DueWork.state == WorkState.DEAD)
    if work_ids is not None:
        dead = dead.where(DueWork.work_id.in_(work_ids))
    return db.execute(
        dead.values(
            state=WorkState.READY,
            due_at=func.now(),
            attempts=0,
            crashes=0,
            hinted_until=None,
            rests_until=None,
        )
    ).rowcount
