"""Lists of dead, waiting and running work, for tenants and operators, and commands on it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Select,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import aliased

from models.conversations.summary import STAND_IN, Summary, SummaryState
from models.database import Transaction
from models.due_work.errors import readable
from models.due_work.queue import DueWork, WorkKind, WorkState
from models.encryption.keys import TextCipher, TextForgottenError, TextUnavailableError

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


_PUT_OFF = (
    (DueWork.state == WorkState.READY) & (DueWork.due_at > func.now()) & DueWork.last_error.is_not(None)
)


def _of(tenant_id: UUID | None) -> ColumnElement[bool]:
    return true() if tenant_id is None else DueWork.tenant_id == tenant_id


def list_stuck(db: Transaction, tenant_id: UUID | None = None, *, most: int | None = None) -> list[DueWork]:
    """List given-up work, then work waiting after a failure; the longest waiting last in both groups.

    Args:
        db: A transaction.
        tenant_id: The tenant of the work; None for all tenants.
        most: Maximum number of pieces; None for all.
    """
    rows = db.execute(
        select(DueWork.__table__)
        .where(_of(tenant_id), or_(DueWork.state == WorkState.DEAD, _PUT_OFF))
        .order_by((DueWork.state == WorkState.DEAD).desc(), DueWork.due_at, DueWork.work_id)
        .limit(most)
    )
    return [DueWork(**readable(db, dict(row))) for row in rows.mappings()]


def count_stuck(db: Transaction, tenant_id: UUID | None = None) -> int:
    """Count the pieces of work of `list_stuck`."""
    stuck = select(func.count()).where(_of(tenant_id), or_(DueWork.state == WorkState.DEAD, _PUT_OFF))
    return int(db.execute(stuck).scalar_one())


def retry_now(db: Transaction, tenant_id: UUID | None = None) -> int:
    """Retry all stuck work at once. Returns the number of pieces.

    Args:
        db: A transaction.
        tenant_id: The tenant of the work; None for all tenants.
    """
    hastened = db.execute(update(DueWork).where(_of(tenant_id), _PUT_OFF).values(due_at=func.now())).rowcount
    return hastened + redrive(db, tenant_id)


def drop_dead(db: Transaction, tenant_id: UUID | None, work_id: int) -> DueWork | None:
    """End dead work for good; a later request for the work begins anew, with no attempt counted.

    Args:
        db: A transaction.
        tenant_id: The required tenant of the work; None for any tenant.
        work_id: Number of the work.

    Returns:
        The work before the change; None without such dead work, and nothing was changed.
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


@dataclass(frozen=True)
class RefusedSummary:
    """A summary refused by the gate and not replaced by a later summary: for operators, with the text."""

    tenant_id: UUID
    session_id: str
    version: int
    model: str
    reason: str
    text: str
    created_at: datetime


def list_refused(db: Transaction, tenant_id: UUID | None, *, most: int) -> list[RefusedSummary]:
    """List the sessions with a refused last summary by a model, with the model's text, latest first.

    Args:
        db: A connection.
        tenant_id: The tenant of the sessions; None for all tenants.
        most: Maximum number of sessions.

    Returns:
        The newest refused summaries of the sessions; the text is empty without the key.
    """
    later = aliased(Summary)
    is_replaced = exists().where(
        later.tenant_id == Summary.tenant_id,
        later.session_id == Summary.session_id,
        later.version > Summary.version,
        later.method != STAND_IN,
    )
    whose = true() if tenant_id is None else Summary.tenant_id == tenant_id
    rows = db.execute(
        select(
            Summary.tenant_id,
            Summary.session_id,
            Summary.version,
            Summary.model,
            func.coalesce(Summary.rejected_because, ""),
            Summary.text,
            Summary.created_at,
        )
        .where(whose, Summary.state == SummaryState.REJECTED, ~is_replaced)
        .order_by(Summary.created_at.desc())
        .limit(most)
    ).all()
    found = [RefusedSummary(*row) for row in rows]
    return [replace(one, text=_refused_text(db, one)) for one in found]


def _refused_text(db: Transaction, refused: RefusedSummary) -> str:
    try:
        cells = TextCipher(db, refused.tenant_id)
        return cells.open("summary.text", refused.text, refused.session_id, refused.version)
    except (TextForgottenError, TextUnavailableError):
        return ""
