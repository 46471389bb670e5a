"""How many calls of one tenant are worked on at once: what one tenant fills, others find free."""

from collections import deque
from dataclasses import dataclass, field
from uuid import UUID

from anyio import Event, move_on_after
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import ProblemError

_PLACE = "afterturn.place"
RETRY_AFTER_S = 1


@dataclass
class _Room:
    """One tenant's calls: how many are worked on, and those that wait for a place, the first first."""

    taken: int = 0
    waiting: deque[Event] = field(default_factory=deque)


class TenantPlaces:
    """The places of all tenants in one process; used by its event loop alone, so nothing is locked.

    A call without a place waits here, and takes no thread meanwhile.
    """

    def __init__(self, *, most: int, most_waiting: int, wait_s: float) -> None:
        """Begin with every place free.

        Args:
            most: The places of a tenant, >= 1.
            most_waiting: How many of its calls may wait for one.
            wait_s: For how long, in seconds.
        """
        self._most, self._most_waiting, self._wait_s = most, most_waiting, wait_s
        self._rooms: dict[UUID, _Room] = {}

    async def enter(self, tenant_id: UUID) -> None:
        """Take a place, now or soon.

        Raises:
            ProblemError: The tenant has all of its places taken for too long, or too many calls wait already.
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
        """Give the place to the call of this tenant that has waited for longest, or free it."""
        room = self._rooms[tenant_id]
        if room.waiting:
            room.waiting.popleft().set()
            return
        room.taken -= 1
        if not room.taken:
            del self._rooms[tenant_id]

    def _give_up(self, tenant_id: UUID, room: _Room, mine: Event) -> None:
        """A call that is cut off while it waits leaves no place taken."""
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
    """Take a place for a request until its answer was sent; once, however often it is asked for.

    Raises:
        ProblemError: The tenant has none free.
    """
    if _PLACE not in scope and (places := scope["app"].state.places) is not None:
        await places.enter(tenant_id)
        scope[_PLACE] = tenant_id


class KeepPlaces:
    """Frees the place of a request when it is over, however it ends."""

    def __init__(self, app: ASGIApp, places: TenantPlaces) -> None:
        """Wrap an application."""
        self.app, self._places = app, places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await self.app(scope, receive, send)
        finally:
            if _PLACE in scope:
                self._places.leave(scope.pop(_PLACE))
