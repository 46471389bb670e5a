"""A tenant's work that is not done: given up, running, and due, for people who look."""

from uuid import UUID

from sqlalchemy import Select, literal_column, select, union_all

from models.database import Transaction
from models.due_work.errors import readable
from models.due_work.queue import DueWork, WorkKind, WorkState

_READY = DueWork.state == WorkState.READY
_PARTS = (
    (DueWork.state == WorkState.DEAD,),
    (DueWork.state == WorkState.RUNNING,),
    (_READY, DueWork.crashes > 0),
    (
        _READY,
        DueWork.crashes == literal_column("0"),
        DueWork.kind.in_(list(WorkKind)),
        DueWork.awaited.in_([False, True]),
    ),
)
"""Each part is read by an index of its own, whatever the number of idle rows of the tenant."""


def list_unfinished(db: Transaction, tenant_id: UUID, *, most: int) -> list[DueWork]:
    """List a tenant's work that is given up, running or due: given up first, then the longest due.

    Args:
        db: A transaction.
        tenant_id: The tenant.
        most: Most pieces of each of the four parts that are read: given up, running, due again after a
            crash, and due.
    """
    parts = union_all(*(_part(tenant_id, number, most) for number in range(len(_PARTS)))).subquery()
    listed = select(parts).order_by((parts.c.state == WorkState.DEAD).desc(), parts.c.due_at, parts.c.work_id)
    return [DueWork(**readable(db, dict(row))) for row in db.execute(listed).mappings()]


def _part(tenant_id: UUID, number: int, most: int) -> Select[tuple[DueWork]]:
    mine = select(DueWork.__table__).where(DueWork.tenant_id == tenant_id, *_PARTS[number])
    return mine.order_by(DueWork.due_at).limit(most)
