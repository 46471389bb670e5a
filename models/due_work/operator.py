"""Work for people: unfinished and given up, tried again or dropped, and events of what it made ready."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Select,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    text,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import aliased

from models.conversations.summary import STAND_IN, Summary, SummaryState
from models.database import Transaction
from models.due_work.queue import DueWork, WorkKind, WorkState
from models.due_work.sealed_errors import readable
from models.encryption.keys import TextCipher, TextForgottenError, TextUnavailableError
from models.scope import Scope

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


def list_unfinished(scope: Scope, *, most: int) -> list[DueWork]:
    """List a tenant's work that is given up, running or due: given up first, then the longest due.

    Args:
        scope: The transaction and its tenant.
        most: Most pieces of each of the four parts that are read: given up, running, due again after a
            crash, and due.
    """
    parts = union_all(*(_part(scope.tenant_id, number, most) for number in range(len(_PARTS)))).subquery()
    listed = select(parts).order_by((parts.c.state == WorkState.DEAD).desc(), parts.c.due_at, parts.c.work_id)
    return [DueWork(**readable(scope.db, dict(row))) for row in scope.db.execute(listed).mappings()]


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


@dataclass(frozen=True)
class Event:
    """An event.

    Attributes:
        kind: `summary_ready`, `artifact_summary_ready`, `plan_ready` or `plan_failed`.
        at: When the transaction of the change began.
        ids: Names of the rows, without any text.
        digest: With `at` the identity of the event.
    """

    kind: str
    at: datetime
    ids: Mapping[str, Any]
    digest: str


_EVENTS = """
(select 'summary_ready' as kind, activated_at as at, session_id, version, null as artifact_id,
        null as plan_id, md5(session_id || ' ' || version) as digest
    from summary
    where tenant_id = :tenant_id and activated_at > :after {of_session}
    order by activated_at fetch first :most rows with ties)
union all
(select 'artifact_summary_ready', ready_at, session_id, null, artifact_id, null,
        md5(concat_ws(' ', artifact_id, focus_key, model, prompt_version, size_class, language))
    from artifact_summary
    where tenant_id = :tenant_id and ready_at > :after {of_session}
    order by ready_at fetch first :most rows with ties)
union all
(select 'plan_' || status, ready_at, session_id, null, null, plan_id::text, md5(plan_id::text)
    from plan_history
    where tenant_id = :tenant_id and ready_at > :after and source = 'asked' {of_session}
    order by ready_at fetch first :most rows with ties)
order by at fetch first :most rows with ties
"""
_OF_ALL, _OF_SESSION = (
    text(_EVENTS.format(of_session=condition)).bindparams(bindparam("after", type_=DateTime(timezone=True)))
    for condition in ("", "and session_id = :session_id")
)
_IDS = ("session_id", "version", "artifact_id", "plan_id")


def read_events(scope: Scope, *, after: datetime, session_id: str | None, most: int) -> list[Event]:
    """Read the events after a moment, oldest first.

    A row tells its newest event alone: a summary that is put in force again has the later time.

    Args:
        scope: The transaction and its tenant.
        after: The moment.
        session_id: One session alone; None for all events of the tenant.
        most: Number of events after which the page ends; further events of the same moment belong to it.
    """
    given: dict[str, Any] = {"tenant_id": scope.tenant_id, "after": after, "most": most}
    if session_id is not None:
        given["session_id"] = session_id
    rows = scope.db.execute(_OF_ALL if session_id is None else _OF_SESSION, given).mappings()
    return [
        Event(
            row["kind"],
            row["at"],
            {name: row[name] for name in _IDS if row[name] is not None},
            row["digest"][:12],
        )
        for row in rows
    ]
