"""Dead work: listed, and given another life."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select, update

from models.session import Transaction
from models.work import DueWork, WorkKind, WorkState
from models.work_errors import readable


def list_work(db: Transaction, tenant_id: UUID, state: WorkState) -> list[DueWork]:
    """List all work of a tenant in a state, longest due first."""
    rows = db.execute(
        select(DueWork.__table__)
        .where(DueWork.tenant_id == tenant_id, DueWork.state == state)
        .order_by(DueWork.due_at)
    )
    return [DueWork(**readable(db, dict(row))) for row in rows.mappings()]


def redrive(
    db: Transaction,
    tenant_id: UUID | None,
    work_ids: list[int] | None = None,
    *,
    kind: WorkKind | None = None,
    delay_s: float = 0,
) -> int:
    """Give dead work another life: all, the named pieces or a kind. Returns the number of pieces.

    Without a tenant, the dead work of all tenants is meant.
    """
    dead = update(DueWork).where(DueWork.state == WorkState.DEAD)
    if tenant_id is not None:
        dead = dead.where(DueWork.tenant_id == tenant_id)
    if work_ids is not None:
        dead = dead.where(DueWork.work_id.in_(work_ids))
    if kind is not None:
        dead = dead.where(DueWork.kind == kind)
    return db.execute(
        dead.values(
            state=WorkState.READY,
            due_at=func.now() + timedelta(seconds=delay_s),
            attempts=0,
            crashes=0,
            losses=0,
            rests_until=None,
        )
    ).rowcount
