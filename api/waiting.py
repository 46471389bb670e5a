"""Wait for work that is under way, for as long as a caller is ready to."""

import time
from contextlib import suppress
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError

from api.settings import api_settings
from models.clock import present
from models.session import Transaction, hinting, reading
from models.work import DueWork, WorkKind, WorkState, find_work, want

POLL_S = 0.02
_PENDING = (WorkState.READY, WorkState.RUNNING)


def _rests(db: Transaction, work: DueWork) -> bool:
    """Whether nobody can have the work done now, however long they wait."""
    return work.rests_until is not None and work.rests_until > present(db)


def wait_for_work(tenant_id: UUID, kind: WorkKind, key: str, wait_ms: int) -> None:
    """Have pending work done now, and wait for it; the answer comes in time with or without it."""
    deadline = time.monotonic() + min(wait_ms, api_settings().max_wait_ms) / 1000
    with reading() as db:
        work = find_work(db, tenant_id, kind, key)
        if work is None or work.state not in _PENDING or _rests(db, work):
            return
    if work.state == WorkState.READY:
        # Running work is not asked for again: it would have to run once more.
        with suppress(SQLAlchemyError), hinting() as db:
            want(db, tenant_id, kind, key, awaited=True)
    while work is not None and work.state in _PENDING and (left_s := deadline - time.monotonic()) > 0:
        time.sleep(min(POLL_S, left_s))
        with reading() as db:
            work = find_work(db, tenant_id, kind, key)
