"""Who may wait for a session's row: a few, so that one that is held does not take all threads of the process.

A call that changes a session works in a thread, and waits there for the row. The few that a session has may
all wait; the next ones stand before the door without a thread. Once the first of those inside has been there
for long, somebody holds the row, and they are sent away at once.
"""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from anyio import Event, move_on_after
from anyio.lowlevel import RunVar
from fastapi import Depends, Request

from api.call import BatchCall, BodyCall, SessionId, digest_of, key_of
from api.errors import held
from api.settings import api_settings

Key = tuple[bytes | None, str]

MANY_SESSIONS = ""
"""Stands for the session of a call about many: no session has this name."""

WRITERS_SHARE, BATCHES_SHARE = 0.75, 0.25
"""Of the threads: what all that change sessions may take, and what batches of one key may take of it."""

BATCH_PATIENCE = 10
"""So many times as long as one turn a batch may take before the next ones are sent away."""


class Turnstile:
    """Counts the calls that are inside, by session and in all; used by one event loop."""

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
        """Stand inside for as long as the block runs.

        Args:
            key: Whose place it is.
            most: How many places it has.
            patience_s: For how long the first may have been inside, so that it is worth to wait.

        Raises:
            ProblemError: All places are taken, and the first inside has been there for longer.
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
        """Since when the first of those is inside who take the last place; None: there is one left."""
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
    """The turnstile of this event loop: some threads are left to those who change no session."""
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


async def _pass_with_many(request: Request, call: BatchCall) -> AsyncIterator[None]:
    del call
    settings, key = api_settings(), (digest_of(key_of(request)), MANY_SESSIONS)
    most = max(int(settings.api_threads * BATCHES_SHARE), 1)
    async with turnstile().passed(key, most=most, patience_s=BATCH_PATIENCE * settings.session_patience_s):
        yield


CHANGES_SESSION = [Depends(_pass)]
"""For calls that hold a session's row, or wait for it."""

CHANGES_SESSIONS = [Depends(_pass_with_many)]
"""For calls that hold the rows of many."""
