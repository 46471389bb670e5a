"""Waiting: a limit on calls that wait for a session's row, and waiting for running work.

A call with changes to a session works in a thread, and waits for the row in the thread. A session has a few
such places; further calls wait outside, without a thread and without a place of their tenant. If the first
call inside has waited for long, the row is blocked, and calls outside are refused at once.
"""

import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import orjson
from anyio import Event, move_on_after, to_thread
from anyio.lowlevel import RunVar
from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError

from api.http.call import ChangeBatch, ChangeCall, SessionId, caller_of, take_place_of_caller
from api.http.caller_limits import WRITERS_SHARE, take_place
from api.http.errors import ProblemError, held
from api.http.process_group import group
from api.settings import api_settings
from models.conversations.accept import find_turn
from models.database import Transaction, database_now, read_transaction
from models.due_work.queue import DueWork, WorkKind, WorkState, enqueue, find_work
from models.scope import Scope

Key = tuple[UUID | None, str]
"""A tenant, and the name of a session."""

MANY_SESSIONS = ""
"""Session name of a call about many sessions; no session has such a name."""

EVERYBODY: Key = (None, MANY_SESSIONS)
"""Key of all calls with changes."""

OF_USER = "\0"
"""Begins the name of a user in place of a session's; no session's name begins so."""

BATCHES_SHARE = 0.25
"""Share of the threads for batches of a tenant."""

BATCH_PATIENCE = 10
"""Most patience with a batch, as a multiple of the patience with a turn."""

LINES_OF_A_PATIENCE = 100
"""Lines of a batch that are worth the patience with one turn."""


class Entry:
    """A call inside a turnstile; nobody outside loses patience with the call before its work begins."""

    def __init__(self) -> None:
        """Begin without a deadline."""
        self.deadline = math.inf


class Turnstile:
    """Counter of calls inside, by session; for a single event loop."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with nobody inside."""
        self._now = now
        self._inside: defaultdict[Key, list[Entry]] = defaultdict(list)
        self._changed = Event()

    @asynccontextmanager
    async def passed(self, bounds: Mapping[Key, int]) -> AsyncIterator[Entry]:
        """Stay inside for the duration of the block.

        Args:
            bounds: Number of places of each key that the call needs a place of.

        Raises:
            ProblemError: All places of a key are taken, and patience with a call inside is over.
        """
        while (deadline := self._deadline_of(bounds)) is not None:
            left_s = deadline - self._now()
            if left_s <= 0:
                raise held()
            with move_on_after(left_s):
                await self._changed.wait()
        entry = Entry()
        for key in bounds:
            self._inside[key].append(entry)
        try:
            yield entry
        finally:
            self._leave(bounds, entry)

    def begin(self, entry: Entry, patience_s: float) -> None:
        """Begin the work of a call inside, which others wait for up to `patience_s` seconds."""
        entry.deadline = self._now() + patience_s
        self._tell()

    def _deadline_of(self, bounds: Mapping[Key, int]) -> float | None:
        """Return the first deadline of the calls in the way; None with a free place everywhere."""
        in_the_way = [self._inside[key] for key, most in bounds.items() if self.is_full(key, most)]
        return min((entry.deadline for entries in in_the_way for entry in entries), default=None)

    def is_full(self, key: Key, most: int) -> bool:
        """Tell whether all places of a key are taken."""
        return len(self._inside.get(key, ())) >= most

    def _leave(self, keys: Iterable[Key], entry: Entry) -> None:
        for key in keys:
            self._inside[key].remove(entry)
            if not self._inside[key]:
                del self._inside[key]
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = Event()


_of_this_loop: RunVar[Turnstile] = RunVar("turnstile")


def turnstile() -> Turnstile:
    """Return the turnstile of the event loop."""
    try:
        return _of_this_loop.get()
    except LookupError:
        made = Turnstile()
        _of_this_loop.set(made)
        return made


def _part(places: float) -> int:
    """The part of this process in places of the whole port."""
    return max(math.ceil(int(places) / group.size), 1)


async def _among(
    request: Request, sessions: Iterable[str], *, patience: float = 1, is_batch: bool = False
) -> AsyncIterator[None]:
    """Let a call pass after other writers of the sessions, then take its tenant's place and a thread's.

    The threads left over are for calls without session changes.
    """
    settings, gate, caller = api_settings(), turnstile(), await caller_of(request)
    tenant_id = caller.tenant_id if caller else None
    bounds = {(tenant_id, name): _part(settings.session_writers) for name in sessions}
    if is_batch:
        bounds[tenant_id, MANY_SESSIONS] = _part(settings.api_threads * BATCHES_SHARE)
    threads = {EVERYBODY: max(int(settings.api_threads * WRITERS_SHARE), 1)}
    async with gate.passed(bounds) as inside:
        if tenant_id is not None:
            await take_place(request.scope, tenant_id, changes=True)
        async with gate.passed(threads) as working:
            for entry in (inside, working):
                gate.begin(entry, patience * settings.session_patience_s)
            yield


async def _pass(request: Request, session_id: SessionId, call: ChangeCall) -> AsyncIterator[None]:
    del call  # its body has been read: a slow upload takes no place
    async for _ in _among(request, [session_id]):
        yield


async def _pass_with_named(request: Request, call: ChangeCall) -> AsyncIterator[None]:
    """Let a call pass with the other writers of the session named in its body; without a name, at once."""
    named = _named_sessions([call.raw])
    if not named:
        await take_place_of_caller(request)
        yield
        return
    async for _ in _among(request, named):
        yield


def _named_sessions(bodies: Iterable[bytes]) -> set[str]:
    """The sessions that bodies name; whether a body is right is judged later."""
    names = set()
    for raw in bodies:
        with suppress(orjson.JSONDecodeError):
            body = orjson.loads(raw)
            named = body.get("session_id") if isinstance(body, dict) else None
            if isinstance(named, str):
                names.add(named)
    return names


async def _pass_with_user(request: Request, call: ChangeCall) -> AsyncIterator[None]:
    del call
    name = OF_USER + request.path_params["user_id"]
    async for _ in _among(request, [name], patience=BATCH_PATIENCE, is_batch=True):
        yield


async def _pass_with_many(request: Request, call: ChangeBatch) -> AsyncIterator[None]:
    lines = call.raw.split(b"\n")[: api_settings().max_batch_turns]
    names = await to_thread.run_sync(_named_sessions, lines)
    patience = min(1 + len(lines) / LINES_OF_A_PATIENCE, BATCH_PATIENCE)
    async for _ in _among(request, names, patience=patience, is_batch=True):
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
        work = find_work(Scope(db, tenant_id), kind, key)
        if work is None or work.state not in _PENDING or _rests(db, work):
            return
    if work.state == WorkState.READY:
        # Running work is not asked for again: it would have to run once more.
        with suppress(SQLAlchemyError), Scope.best_effort(tenant_id) as scope:
            enqueue(scope, kind, key, awaited=True)
    while work is not None and work.state in _PENDING and (left_s := deadline - time.monotonic()) > 0:
        time.sleep(min(POLL_S, left_s))
        with Scope.read(tenant_id) as scope:
            work = find_work(scope, kind, key)


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
        with Scope.read(tenant_id) as scope:
            if find_turn(scope, session_id, turn_id) is not None:
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
