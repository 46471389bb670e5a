"""Hints: which due work the dispatcher tells the broker about, and until when it has been told."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, and_, func, literal, or_, select, update

from models.session import Transaction
from models.work import DueWork, WorkKind, WorkState


@dataclass(frozen=True)
class Hint:
    """What the dispatcher tells the broker: an id and where to send it."""

    work_id: int
    kind: WorkKind
    isolated: bool


def _written(state: WorkState) -> ColumnElement[str]:
    """The state as a part of the statement: only then does a prepared plan know the partial index."""
    return literal(state, literal_execute=True)


_MAY_BE_DUE = and_(
    or_(DueWork.state == _written(WorkState.READY), DueWork.state == _written(WorkState.RUNNING)),
    DueWork.due_at <= func.now(),
)
"""What the partial index answers. Running work was due when it was claimed, and is due no later since."""


def take_hints(db: Transaction, *, limit: int, hint_lifetime_s: float) -> list[Hint]:
    """Pick due work to hint at, and remember that it was hinted until the hint has expired.

    Work with an expired lease is due too: that is how a crash is found. Several dispatchers may
    call at once; each row goes to one of them. A kind that only newer code knows is left to it.
    """
    due = (
        select(DueWork.work_id)
        .where(
            _MAY_BE_DUE,
            or_(DueWork.state == WorkState.READY, DueWork.lease_until < func.now()),
            or_(DueWork.hinted_until.is_(None), DueWork.hinted_until <= func.now()),
            DueWork.kind.in_(list(WorkKind)),
        )
        .order_by(DueWork.awaited.desc(), DueWork.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("due")
        .prefix_with("materialized", dialect="postgresql")
    )
    rows = db.execute(
        update(DueWork)
        .where(DueWork.work_id == due.c.work_id)
        .values(hinted_until=func.now() + timedelta(seconds=hint_lifetime_s))
        .returning(DueWork.work_id, DueWork.kind, DueWork.crashes, DueWork.state)
    )
    return [
        Hint(row.work_id, WorkKind(row.kind), isolated=row.crashes > 0 or row.state == WorkState.RUNNING)
        for row in rows
    ]
