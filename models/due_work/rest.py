"""Rest of work with refused results: noted, ended, forgotten from outside."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import Update, func, update

from models.database import Transaction
from models.due_work.queue import Claim, DueWork, WorkKind


def rest(db: Transaction, held: Claim, because: str, *, seconds: float) -> None:
    """Note a refused result, and let the work rest; call before the end of the work is written."""
    db.execute(
        _of(held).values(
            refusals=DueWork.refusals + 1,
            rests_until=func.now() + timedelta(seconds=seconds),
            refused_because=because[:500],
        )
    )


_RESTED = {"refusals": 0, "rests_until": None, "refused_because": None}


def end_rest(db: Transaction, held: Claim) -> None:
    """Clear earlier refusals after a good result."""
    db.execute(_of(held).values(_RESTED))


def forget_refusals(db: Transaction, tenant_id: UUID, kind: WorkKind, key: str) -> None:
    """Clear earlier refusals from outside: the refused result is not wanted any more."""
    db.execute(
        update(DueWork)
        .where(DueWork.tenant_id == tenant_id, DueWork.kind == kind, DueWork.key == key)
        .values(_RESTED)
    )


def _of(held: Claim) -> Update:
    return update(DueWork).where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
