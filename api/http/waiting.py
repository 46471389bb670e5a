"""Waiting for running work, up to the caller's limit."""

import time
from contextlib import suppress
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError

from api.http.errors import ProblemError
from api.settings import api_settings
from models.conversations.turn_places import find_turn
from models.database import Transaction, best_effort_transaction, database_now, read_transaction
from models.due_work.queue import DueWork, WorkKind, WorkState, enqueue, find_work

POLL_S = 0.02
_PENDING = (WorkState.READY, WorkState.RUNNING)


def _rests(db: Transaction, work: DueWork) -> bool:
    """Tell whether the work is paused, so that waiting is useless."""
    return work.rests_until is not None and work.rests_until > database_now(db)


def wait_for_work(tenant_id: UUID, kind: WorkKind, key: str, wait_ms: int) -> None:
    """Start pending work now, and wait for the end; return in time in any case."""
    deadline = time.monotonic() + min(wait_ms, api_settings().max_wait_ms) / 1000
    with read_transaction() as db:
        work = find_work(db, tenant_id, kind, key)
        if work is None or work.state not in _PENDING or _rests(db, work):
            return
    if work.state == WorkState.READY:
        # Running work is not asked for again: it would have to run once more.
        with suppress(SQLAlchemyError), best_effort_transaction() as db:
            enqueue(db, tenant_id, kind, key, awaited=True)
    while work is not None and work.state in _PENDING and (left_s := deadline - time.monotonic()) > 0:
        time.sleep(min(POLL_S, left_s))
        with read_transaction() as db:
            work = find_work(db, tenant_id, kind, key)


def wait_for_turn(tenant_id: UUID, session_id: str, turn_id: str | None, wait_ms: int) -> None:
    """Wait until a turn is stored, up to the caller's limit.

    Args:
        tenant_id: The tenant of the session.
        session_id: The session.
        turn_id: The turn; None for no wait.
        wait_ms: The longest wait, in milliseconds.

    Raises:
        ProblemError: The turn is not stored in time.
    """
    if turn_id is None:
        return
    deadline = time.monotonic() + min(wait_ms, api_settings().max_wait_ms) / 1000
    while True:
        with read_transaction() as db:
            if find_turn(db, tenant_id, session_id, turn_id) is not None:
                return
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise ProblemError(
                "turn-not-stored",
                f"after_turn: {turn_id[:80]!r} is not stored yet; send the turn, or ask again with `wait_ms`",
                field="after_turn",
                retry_after_s=1,
            )
        time.sleep(min(POLL_S, left_s))
