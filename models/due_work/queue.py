"""Due work: tasks, leases and results. This table is the queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ColumnElement,
    Double,
    Identity,
    Index,
    Row,
    Text,
    Uuid,
    bindparam,
    case,
    delete,
    false,
    func,
    literal,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, CreatedAt, TenantKey, Timestamp, json_of, json_rows
from models.database import Transaction
from models.due_work.heartbeat import LossRules, count_end
from models.due_work.kinds import WorkKind, WorkState
from models.due_work.sealed_errors import MOST_CHARS, readable, seal_error
from models.scope import Scope
from models.telemetry.tracing import present_trace

__all__ = ["WorkKind", "WorkState"]

WAKE_CHANNEL = "due_work"
"""Channel of the NOTIFY that wakes the dispatcher for awaited work."""

_BUSY = {"fillfactor": 70, "autovacuum_vacuum_scale_factor": 0.01, "autovacuum_vacuum_cost_delay": 0}


class DueWork(Base):
    """A piece of work for a (kind, key); a repeated request finds the same row."""

    __tablename__ = "due_work"
    __table_args__ = (
        CheckConstraint("state in ('ready', 'running', 'idle', 'dead')", name="state_is_known"),
        CheckConstraint("(state = 'running') = (lease is not null)", name="running_has_a_lease"),
        CheckConstraint("(lease is null) = (lease_until is null)", name="a_lease_ends"),
        Index(None, "tenant_id", "due_at", postgresql_where=text("state = 'dead'")),
        Index(
            "ix_due_work_queue",
            "kind",
            text("awaited desc"),
            "due_at",
            postgresql_where=text("state = 'ready' and crashes = 0"),
        ),
        Index(
            "ix_due_work_turns",
            "kind",
            "awaited",
            "tenant_id",
            "due_at",
            postgresql_where=text("state = 'ready' and crashes = 0"),
        ),
        Index(
            "ix_due_work_isolated",
            "due_at",
            postgresql_where=text("state = 'running' or (state = 'ready' and crashes > 0)"),
        ),
        CheckConstraint(
            "denied_by in ('tenant tokens', 'tenant usd', 'session tokens', 'session usd')",
            name="denial_is_known",
        ),
        CheckConstraint(
            "num_nulls(denied_by, denied_needs, denied_cap, denied_at, denied_under) in (0, 5)",
            name="denial_is_whole",
        ),
        Index(
            "ix_due_work_denied",
            "tenant_id",
            "denied_by",
            "denied_needs",
            postgresql_where=text("state = 'ready' and denied_by is not null"),
        ),
        CheckConstraint("waits_for in ('cap', 'model')", name="wait_is_known"),
        CheckConstraint("(waits_for is null) = (waits_since is null)", name="wait_has_begun"),
        CheckConstraint("waits_for_models is null or coalesce(waits_for, '') = 'model'", name="models_wait"),
        Index(
            "ix_due_work_waits", "waits_for", "waits_since", postgresql_where=text("waits_for is not null")
        ),
        Index(
            "ix_due_work_parked",
            "waits_for_models",
            "due_at",
            postgresql_where=text("state = 'ready' and waits_for_models is not null"),
        ),
        {"postgresql_with": _BUSY},
    )

    tenant_id: Mapped[TenantKey]
    kind: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    work_id: Mapped[int] = mapped_column(BigInteger, Identity(), unique=True)
    state: Mapped[str]
    due_at: Mapped[Timestamp]
    awaited: Mapped[bool] = mapped_column(server_default=text("false"))
    wanted: Mapped[int] = mapped_column(BigInteger, server_default=text("1"))
    claimed: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    attempts: Mapped[int] = mapped_column(server_default=text("0"))
    crashes: Mapped[int] = mapped_column(server_default=text("0"))
    lease: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
    hinted_until: Mapped[datetime | None]  # read by older code alone
    last_error: Mapped[str | None]
    last_outcome: Mapped[str | None]
    finished_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
    refusals: Mapped[int] = mapped_column(server_default=text("0"))
    rests_until: Mapped[datetime | None]
    refused_because: Mapped[str | None]
    trace: Mapped[str | None]
    denied_by: Mapped[str | None]
    denied_needs: Mapped[Decimal | None]
    denied_cap: Mapped[Decimal | None]
    denied_at: Mapped[datetime | None]
    denied_under: Mapped[str | None]
    waits_for: Mapped[str | None]
    waits_since: Mapped[datetime | None]
    waits_for_models: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    holder: Mapped[str | None]
    losses: Mapped[int] = mapped_column(server_default=text("0"))


@dataclass(frozen=True)
class Claim:
    """A lease on a piece of work: only the holder of the token may finish the work."""

    work_id: int
    tenant_id: UUID
    kind: WorkKind
    key: str
    lease: UUID
    attempts: int
    crashes: int
    refusals: int = 0
    trace: str | None = None


def enqueue(scope: Scope, kind: WorkKind, key: str, *, delay_s: float = 0, awaited: bool = False) -> None:
    """Request work, in the transaction of the event that makes the work due.

    Ten events in a row make one piece of work: an earlier due time stays. Running work notices a repeated
    request at its end. Dead work gets a single further try, not all tries again. Resting work is not due
    before the end of the rest, for any waiting caller.
    """
    enqueue_many(scope, kind, [key], delay_s=delay_s, awaited=awaited)


def enqueue_many(
    scope: Scope,
    kind: WorkKind,
    keys: Sequence[str],
    *,
    delay_s: float = 0,
    awaited: bool = False,
) -> None:
    """Request work on several keys at once; see `enqueue`."""
    enqueue_each(scope, [(kind, key, delay_s) for key in keys], awaited=awaited)


def enqueue_each(
    scope: Scope, wishes: Iterable[tuple[WorkKind, str, float]], *, awaited: bool = False
) -> None:
    """Request work of several kinds by one statement; see `enqueue`.

    Args:
        scope: The transaction of the event.
        wishes: Kind and key of each piece of work, and the seconds until the work is due.
        awaited: True if somebody waits for the work.
    """
    delays = {(kind.value, key): delay_s for kind, key, delay_s in wishes}
    if not delays:
        return
    asked = [{"kind": kind, "key": key, "delay_s": delays[kind, key]} for kind, key in sorted(delays)]
    scope.execute(_wish(awaited), asked=json_of(asked), trace=present_trace())
    for kind in sorted({kind for kind, _ in delays} if awaited else ()):
        scope.db.execute(_WAKE, {"kind": kind})


_WAKE = select(func.pg_notify(WAKE_CHANNEL, bindparam("kind", type_=Text)))


@lru_cache
def _wish(awaited: bool) -> Insert:
    """Build the statement of `enqueue` once: building costs more than running."""
    each = json_rows("asked", kind=Text, key=Text, delay_s=Double)
    asked = select(
        bindparam("tenant_id", type_=Uuid),
        each.c.kind,
        each.c.key,
        literal(WorkState.READY.value),
        func.now() + func.make_interval(0, 0, 0, 0, 0, 0, each.c.delay_s),
        true() if awaited else false(),
        bindparam("trace", type_=Text),
    )
    columns = ["tenant_id", "kind", "key", "state", "due_at", "awaited", "trace"]
    row = insert(DueWork).from_select(columns, asked)
    idle = DueWork.state.in_((WorkState.IDLE, WorkState.DEAD))
    again = case((DueWork.state == WorkState.DEAD, 1), else_=0)
    return row.on_conflict_do_update(
        index_elements=[DueWork.tenant_id, DueWork.kind, DueWork.key],
        set_={
            "state": case((idle, WorkState.READY), else_=DueWork.state),
            "due_at": _after_rest(
                case(
                    (idle, row.excluded.due_at),
                    (
                        true() if awaited else DueWork.last_error.is_(None),
                        func.least(DueWork.due_at, row.excluded.due_at),
                    ),
                    else_=DueWork.due_at,
                )
            ),
            "wanted": DueWork.wanted + 1,
            **{name: func.greatest(getattr(DueWork, name) - again, 0) for name in _TRIES},
            "awaited": or_(DueWork.awaited, row.excluded.awaited),
            "trace": case((idle, row.excluded.trace), else_=func.coalesce(row.excluded.trace, DueWork.trace)),
        },
    )


def _after_rest(due_at: ColumnElement[datetime]) -> ColumnElement[datetime]:
    """Move a due time to the end of the rest; NULL is no rest, and `greatest` passes NULL over."""
    return func.greatest(due_at, DueWork.rests_until)


_TRIES = ("attempts", "crashes", "losses")
NOT_DENIED = dict.fromkeys(("denied_by", "denied_needs", "denied_cap", "denied_at", "denied_under"))
NOT_WAITING = dict.fromkeys(("waits_for", "waits_since", "waits_for_models"))


def claim(
    db: Transaction, work_id: int, *, lease_s: float, max_crashes: int, rules: LossRules | None = None
) -> Claim | None:
    """Lease a piece of work; returns None for work not due, leased by another, or dead; see `claim_next`."""
    row = db.execute(
        update(DueWork)
        .where(
            DueWork.work_id == work_id,
            or_(
                (DueWork.state == WorkState.READY) & (DueWork.due_at <= func.now()),
                (DueWork.state == WorkState.RUNNING) & (DueWork.lease_until < func.now()),
            ),
        )
        .values(**leased(lease_s=lease_s, max_crashes=max_crashes, rules=rules))
        .returning(DueWork.__table__)
    ).one_or_none()
    return None if row is None or row.state == WorkState.DEAD else claim_of(row)


def leased(*, lease_s: float, max_crashes: int, rules: LossRules | None = None) -> dict[str, Any]:
    """Build the values of a claimed row: leased, or dead after too many crashes.

    The counters are raised here, before the work starts: a worker that dies in the work cannot raise
    counters. The rules name the taker and judge an expired lease; without rules, each expiry was a crash.
    """
    expired = DueWork.state == WorkState.RUNNING
    dies, counted = count_end(DueWork, expired, lease_s=lease_s, max_crashes=max_crashes, rules=rules)
    return {
        "state": case((dies, WorkState.DEAD), else_=WorkState.RUNNING),
        "lease": case((dies, None), else_=uuid4()),
        "lease_until": case((dies, None), else_=func.now() + timedelta(seconds=lease_s)),
        **counted,
        "attempts": DueWork.attempts + case((expired, 0), else_=1),
        "claimed": DueWork.wanted,
        "last_error": case((expired, "the worker died or its lease ran out"), else_=DueWork.last_error),
        **NOT_DENIED,
        **{name: case((dies, None), else_=getattr(DueWork, name)) for name in NOT_WAITING},
    }


def claim_of(row: Row[Any]) -> Claim:
    """Build the lease from a just claimed row."""
    found = {one.name: getattr(row, one.name) for one in fields(Claim)}
    return Claim(**{**found, "kind": WorkKind(row.kind)})


def renew(db: Transaction, held: Claim, *, lease_s: float) -> bool:
    """Extend a lease between two steps of long work. False: the lease was lost, stop."""
    renewed = db.execute(
        update(DueWork)
        .where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
        .values(lease_until=func.now() + timedelta(seconds=lease_s))
    )
    return renewed.rowcount == 1


def lock_lease(db: Transaction, held: Claim) -> bool:
    """Lock the lease for the rest of this transaction. False: another worker has it, write nothing."""
    row = db.execute(
        select(DueWork.work_id)
        .where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
        .with_for_update()
    ).one_or_none()
    return row is not None


def finish(db: Transaction, held: Claim, outcome: str, *, again_in_s: float | None = None) -> bool:
    """End the work well, in the transaction that writes the result.

    A request during the run makes the work ready again, and so does `again_in_s`: there is more to do. False:
    the lease was lost, and nothing was changed.
    """
    again = DueWork.wanted > DueWork.claimed if again_in_s is None else true()
    done = db.execute(
        update(DueWork)
        .where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
        .values(
            state=case((again, WorkState.READY), else_=WorkState.IDLE),
            due_at=_after_rest(func.now() + timedelta(seconds=again_in_s or 0)),
            lease=None,
            lease_until=None,
            attempts=0,
            crashes=0,
            losses=0,
            awaited=False,
            last_error=None,
            last_outcome=outcome,
            finished_at=func.now(),
            **NOT_WAITING,
        )
    )
    return done.rowcount == 1


def forget_done(db: Transaction, held: Claim) -> None:
    """Delete work done once and for all; call after `finish`. Work requested again stays."""
    db.execute(delete(DueWork).where(DueWork.work_id == held.work_id, DueWork.state == WorkState.IDLE))


def retry_later(
    db: Transaction,
    held: Claim,
    error: str,
    *,
    delay_s: float,
    max_attempts: int | None = None,
    own: str | None = None,
    rest_s: float = 0,
) -> bool:
    """Retry the work later; with `max_attempts`, give up at the limit and leave the work dead and visible.

    Without a limit the work waits for ever: an outage or a cap is not the work's fault, and the count of
    attempts stays the same. An error with quoted text is sealed and also given in our `own` words.
    """
    if own is not None:
        error = seal_error(Scope(db, held.tenant_id), held.work_id, error, own=own)
    else:
        error = error[:MOST_CHARS]
    dies = false() if max_attempts is None else DueWork.attempts >= max_attempts
    done = db.execute(
        update(DueWork)
        .where(DueWork.work_id == held.work_id, DueWork.lease == held.lease)
        .values(
            state=case((dies, WorkState.DEAD), else_=WorkState.READY),
            due_at=func.now() + timedelta(seconds=delay_s),
            lease=None,
            lease_until=None,
            attempts=DueWork.attempts if max_attempts else func.greatest(DueWork.attempts - 1, 0),
            awaited=False,
            last_error=error,
            last_outcome=case((dies, "given up"), else_="put off"),
            rests_until=case((dies, func.now() + timedelta(seconds=rest_s)), else_=DueWork.rests_until),
        )
    )
    return done.rowcount == 1


def find_work(scope: Scope, kind: WorkKind, key: str) -> DueWork | None:
    """Find a piece of work; returns None for work never requested."""
    named = (DueWork.tenant_id == scope.tenant_id, DueWork.kind == kind, DueWork.key == key)
    row = scope.db.execute(select(DueWork.__table__).where(*named)).one_or_none()
    return DueWork(**readable(scope.db, row._mapping)) if row else None  # noqa: SLF001 (SQLAlchemy's public mapping view)
