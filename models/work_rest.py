"""The rest of work whose results were refused: noted, ended, forgotten from outside."""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import Update, func, update

from models.session import Transaction
from models.work import Claim, DueWork, WorkKind


def rest(db: Transaction, held: Claim, because: str, *, seconds: float) -> None:
    """Note that what the work made was refused, and let it rest; called before its end is written."""
    db.execute(
        _of(held).values(
            refusals=DueWork.refusals + 1,
            rests_until=func.now() + timedelta(seconds=seconds),
            refused_because=because[:500],
        )
    )


_RESTED = {"refusals": 0, "rests_until": None, "refused_because": None}


def end_rest(db: Transaction, held: Claim) -> None:
    """Forget earlier refusals: what the work made is good."""
    db.execute(_of(held).values(_RESTED))


def forget_refusals(db: Transaction, tenant_id: UUID, kind: WorkKind, key: str) -> None:
    """Forget earlier refusals from outside: what was refused is not asked for any more."""
    db.execute(
        update(DueWork)
        .where(DueWork.tenant_id == tenant_id, DueWork.kind == kind, DueWork.key == key)
        .values(_RESTED)
    )


def _of(held: Claim) -> Update:
    return update(DueWork).where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
