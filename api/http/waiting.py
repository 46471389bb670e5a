"""Waiting: a limit on calls that wait for a session's row, and waiting for running work.

A call with changes to a session works in a thread, and waits for the row in the thread. A session has a few
such places; further calls wait outside without a thread. If the first call inside has waited for long, the
row is blocked, and calls outside are refused at once.
"""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import orjson
from anyio import Event, move_on_after
from anyio.lowlevel import RunVar
from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError

from api.http.call import BatchCall, BodyCall, SessionId, digest_of, key_of
from api.http.errors import ProblemError, held
from api.settings import api_settings
from models.conversations.accept import find_turn
from models.database import Transaction, best_effort_transaction, database_now, read_transaction
from models.due_work.queue import DueWork, WorkKind, WorkState, enqueue, find_work

Key = tuple[bytes | None, str]

MANY_SESSIONS = ""
"""Session name of a call about many sessions; no session has such a name."""

WRITERS_SHARE, BATCHES_SHARE = 0.75, 0.25
"""Shares of the threads: for all calls with session changes, and for batches of a key within."""

BATCH_PATIENCE = 10
"""Patience for a batch, as a multiple of the patience for a turn."""


class Turnstile:
    """Counter of calls inside, by session and in total; for a single event loop."""

    def __init__(
        self,
        most_in_all: int,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Admit so many at once, of all sessions."""
        self._most_in_all = most_in_all
        self._now = now
        self._inside: defaultdict[Key, list[float]] = defaultdict(list)
        self._all: list[float] = []
        self._left = Event()

    @asynccontextmanager
    async def passed(self, key: Key, *, most: int, patience_s: float) -> AsyncIterator[None]:
        """Stay inside for the duration of the block.

        Args:
            key: The owner of the places.
            most: Number of places.
            patience_s: Time of the first call inside up to which waiting is worthwhile, in seconds.

        Raises:
            ProblemError: All places are taken, and the first call inside has been there for longer.
        """
        while (full := self._in_the_way(key, most)) is not None:
            left_s = full + patience_s - self._now()
            if left_s <= 0:
                raise held()
            with move_on_after(left_s):
                await self._left.wait()
        entered = self._now()
        self._inside[key].append(entered)
        self._all.append(entered)
        try:
            yield
        finally:
            self._leave(key, entered)

    def _in_the_way(self, key: Key, most: int) -> float | None:
        """Return the entry time of the first call in the way; None with a free place."""
        if len(self._inside.get(key, ())) >= most:
            return min(self._inside[key])
        return min(self._all) if len(self._all) >= self._most_in_all else None

    def _leave(self, key: Key, entered: float) -> None:
        self._inside[key].remove(entered)
        if not self._inside[key]:
            del self._inside[key]
        self._all.remove(entered)
        self._left.set()
        self._left = Event()


_of_this_loop: RunVar[Turnstile] = RunVar("turnstile")


def turnstile() -> Turnstile:
    """Return the turnstile of the event loop; some threads are left to calls without session changes."""
    try:
        return _of_this_loop.get()
    except LookupError:
        made = Turnstile(max(int(api_settings().api_threads * WRITERS_SHARE), 1))
        _of_this_loop.set(made)
        return made


async def _pass(request: Request, session_id: SessionId, call: BodyCall) -> AsyncIterator[None]:
    del call  # its body has been read: a slow upload takes no place
    settings, key = api_settings(), (digest_of(key_of(request)), session_id)
    async with turnstile().passed(key, most=settings.session_writers, patience_s=settings.session_patience_s):
        yield


async def _pass_with_named(request: Request, call: BodyCall) -> AsyncIterator[None]:
    """Let a call pass after the other writers of the session named in its body; without a name, at once."""
    named = _named_session(call.raw)
    if named is None:
        yield
        return
    settings, key = api_settings(), (digest_of(key_of(request)), named)
    async with turnstile().passed(key, most=settings.session_writers, patience_s=settings.session_patience_s):
        yield


def _named_session(raw: bytes) -> str | None:
    """The session of a body, which is judged later; None where it names none."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    named = body.get("session_id") if isinstance(body, dict) else None
    return named if isinstance(named, str) else None


async def _pass_with_user(request: Request, call: BodyCall) -> AsyncIterator[None]:
    del call
    async for _ in _among_many(request):
        yield


async def _pass_with_many(request: Request, call: BatchCall) -> AsyncIterator[None]:
    del call
    async for _ in _among_many(request):
        yield


async def _among_many(request: Request) -> AsyncIterator[None]:
    settings, key = api_settings(), (digest_of(key_of(request)), MANY_SESSIONS)
    most = max(int(settings.api_threads * BATCHES_SHARE), 1)
    async with turnstile().passed(key, most=most, patience_s=BATCH_PATIENCE * settings.session_patience_s):
        yield


CHANGES_SESSION = [Depends(_pass)]
"""Dependencies of calls with a lock on a session's row."""

CHANGES_NAMED_SESSION = [Depends(_pass_with_named)]
"""For calls that wait for the row of a session that their body may name."""

CHANGES_SESSIONS_OF_USER = [Depends(_pass_with_user)]
"""For calls without a batch that hold the rows of many."""

CHANGES_SESSIONS = [Depends(_pass_with_many)]
"""Dependencies of calls with locks on many sessions' rows."""


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
