"""Helpers for tests of due work: inside one transaction, and committed."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, Row, select, text

from models import database as session
from models.conversations.session import lock_sessions
from models.due_work.fair_claim import Due, Turns, claim_next, look
from models.due_work.queue import Claim, DueWork, WorkKind, WorkState, claim, enqueue, find_work
from models.scope import Scope
from workers.settings import WorkerSettings

QUICK = WorkerSettings(lease_s=1, renew_s=0.1, backoff_s=2, backoff_max_s=300, max_attempts=3)
MAX_CRASHES = 3
MAX_ATTEMPTS = 5


class Clock:
    """Time for work of an open transaction, whose own clock stands still: the rows move to the past."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def pass_by(self, seconds: float) -> None:
        age = "- make_interval(secs => :s)"
        self._db.execute(
            text(
                f"update due_work set due_at = due_at {age}, lease_until = lease_until {age}, "  # noqa: S608
                f"rests_until = rests_until {age}"
            ),
            {"s": seconds},
        )


def plant_work(db: Connection, tenant: UUID, session_id: str, work_id: int) -> None:
    """A session without a turn, and work for it under a number of the test's own."""
    lock_sessions(Scope(db, tenant), [session_id])
    db.execute(
        text(
            "insert into due_work (tenant_id, kind, key, work_id, state, due_at) overriding system value "
            "values (:tenant, 'summarize', :session_id, :work_id, 'ready', now())"
        ),
        {"tenant": tenant, "session_id": session_id, "work_id": work_id},
    )


def row(db: Connection, tenant: UUID, key: str = "s1") -> DueWork:
    """The work to summarize one session, which must be there."""
    found = find_work(Scope(db, tenant), WorkKind.SUMMARIZE, key)
    assert found is not None
    return found


def in_state(db: Connection, tenant: UUID, state: WorkState) -> Sequence[Row[int, str, str | None]]:
    """Id, key and last error of a tenant's work in a state, longest due first."""
    work = select(DueWork.work_id, DueWork.key, DueWork.last_error)
    return db.execute(
        work.where(DueWork.tenant_id == tenant, DueWork.state == state).order_by(DueWork.due_at)
    ).all()


def facts(db: Connection) -> list[tuple[object, ...]]:
    """Every column of every piece of work."""
    return [tuple(one) for one in db.execute(text("select * from due_work order by work_id"))]


def take(db: Connection, work_id: int, lease_s: float = 20) -> Claim:
    """A lease that must be there to get."""
    held = claim(db, work_id, lease_s=lease_s, max_crashes=MAX_CRASHES)
    assert held is not None
    return held


def what_is_due(db: Connection, most: int = 9) -> Due:
    """All that is due, counted as the dispatcher does."""
    return look(db, list(WorkKind), isolated=True, most=most)


def is_due(db: Connection) -> bool:
    """Whether anything is due."""
    return bool(what_is_due(db).pieces)


def take_next(
    db: Connection, turns: Turns | None = None, *, kinds: Sequence[WorkKind] = tuple(WorkKind)
) -> Claim | None:
    """The lease that a worker of all queues gets next, or None where nothing is due."""
    return claim_next(db, kinds, turns or Turns(), isolated=True, lease_s=20, max_crashes=MAX_CRASHES).held


def make_due() -> None:
    """Make all work due at once: a test waits for no pause."""
    with session.transaction() as db:
        db.execute(text("update due_work set due_at = now()"))


def commit_work(tenant: UUID) -> int:
    """Make a session's summary due for good, and say which work that is."""
    with session.transaction() as db:
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1")
    return int(state(tenant).work_id)


def state(tenant: UUID) -> DueWork:
    """That work as it is committed now."""
    with session.read_transaction() as db:
        return row(db, tenant)
