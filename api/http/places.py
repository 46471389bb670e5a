"""Concurrency limit per tenant: a busy tenant leaves threads to others."""

from collections import deque
from dataclasses import dataclass, field
from uuid import UUID

from anyio import Event, move_on_after
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.errors import ProblemError

_PLACE = "afterturn.place"
RETRY_AFTER_S = 1


@dataclass
class _Room:
    """A tenant's running calls, and calls waiting for a place in order of arrival."""

    taken: int = 0
    waiting: deque[Event] = field(default_factory=deque)


class TenantPlaces:
    """The places of all tenants in a process; used by a single event loop, without locks.

    A call without a place waits without a thread.
    """

    def __init__(self, *, most: int, most_waiting: int, wait_s: float) -> None:
        """Begin with every place free.

        Args:
            most: The places of a tenant, >= 1.
            most_waiting: The most calls of a tenant waiting for a place.
            wait_s: Longest wait, in seconds.
        """
        self._most, self._most_waiting, self._wait_s = most, most_waiting, wait_s
        self._rooms: dict[UUID, _Room] = {}

    async def enter(self, tenant_id: UUID) -> None:
        """Take a place, at once or after a short wait.

        Raises:
            ProblemError: All places of the tenant are taken for too long, or too many calls wait already.
        """
        room = self._rooms.setdefault(tenant_id, _Room())
        if room.taken < self._most:
            room.taken += 1
            return
        if len(room.waiting) >= self._most_waiting:
            raise self._full()
        mine = Event()
        room.waiting.append(mine)
        try:
            with move_on_after(self._wait_s):
                await mine.wait()
        except BaseException:
            self._give_up(tenant_id, room, mine)
            raise
        if not mine.is_set():
            room.waiting.remove(mine)
            raise self._full()

    def leave(self, tenant_id: UUID) -> None:
        """Pass the place to the tenant's longest waiting call, or free the place."""
        room = self._rooms[tenant_id]
        if room.waiting:
            room.waiting.popleft().set()
            return
        room.taken -= 1
        if not room.taken:
            del self._rooms[tenant_id]

    def _give_up(self, tenant_id: UUID, room: _Room, mine: Event) -> None:
        """Release or cancel the place of a cancelled waiting call."""
        if mine.is_set():
            self.leave(tenant_id)
        else:
            room.waiting.remove(mine)

    def _full(self) -> ProblemError:
        return ProblemError(
            "rate-limited",
            f"{self._most} calls of this tenant are worked on already; nothing was changed, try again",
            most=self._most,
            retry_after_s=RETRY_AFTER_S,
        )


async def take_place(scope: Scope, tenant_id: UUID) -> None:
    """Take a place for a request until its answer is sent; repeated calls take no further place.

    Raises:
        ProblemError: The tenant has no free place.
    """
    if _PLACE not in scope and (places := scope["app"].state.places) is not None:
        await places.enter(tenant_id)
        scope[_PLACE] = tenant_id


class KeepPlaces:
    """Frees the place of a request at its end, in any case."""

    def __init__(self, app: ASGIApp, places: TenantPlaces) -> None:
        """Wrap an application."""
        self.app, self._places = app, places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            await self.app(scope, receive, send)
        finally:
            if _PLACE in scope:
                self._places.leave(scope.pop(_PLACE))
