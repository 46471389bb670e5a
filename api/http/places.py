"""Concurrency limit per tenant: a busy tenant leaves threads to others."""

import asyncio
from collections import deque
from uuid import UUID

from anyio import Event, move_on_after
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.errors import ProblemError
from api.http.process_group import group
from api.http.shared_rows import Row, SharedRows

_PLACE = "afterturn.place"
RETRY_AFTER_S = 1

LOOK_S = 0.01
"""Seconds between two looks for a place that another process left, while a call waits."""


class SharedCounts:
    """Taken places and waiting calls of each tenant, in each process of the group."""

    def __init__(self) -> None:
        """Begin with every place free."""
        self._rows = SharedRows(f"{2 * group.size}H", sum, sets=512)
        self._nobody: Row = (0,) * (2 * group.size)
        group.at_death(self.forget)

    def take(self, tenant_id: UUID, most: int, *, waited: bool = False) -> bool:
        """Take a place for a new or a waiting call; False without a free place.

        While another process waits as well, each takes no more than its part of the places.
        """
        with self._rows.held(tenant_id.hex) as (mark, rows):
            row = rows.get(mark, self._nobody)
            taken, waiting = row[: group.size], row[group.size :]
            others_wait = any(count for place, count in enumerate(waiting) if place != group.own)
            sharers = sum(1 for both in zip(taken, waiting, strict=True) if any(both))
            part = -(-most // max(sharers, 1)) if others_wait else most
            if sum(taken) >= most or taken[group.own] >= part:
                return False
            rows[mark] = self._with(row, taken=1, waiting=-waited)
        return True

    def wait(self, tenant_id: UUID, most_waiting: int) -> bool:
        """Count a call that waits; False with too many of them."""
        with self._rows.held(tenant_id.hex) as (mark, rows):
            row = rows.get(mark, self._nobody)
            if sum(row[group.size :]) >= most_waiting:
                return False
            rows[mark] = self._with(row, waiting=1)
        return True

    def give_back(self, tenant_id: UUID, *, taken: int = 0, waiting: int = 0) -> None:
        """Take counts back."""
        with self._rows.held(tenant_id.hex) as (mark, rows):
            rows[mark] = self._with(rows.get(mark, self._nobody), taken=-taken, waiting=-waiting)

    def forget(self, place: int) -> None:
        """Free the places of a dead process of the group."""
        self._rows.edit_all(
            lambda row: tuple(0 if at % group.size == place else count for at, count in enumerate(row))
        )

    @staticmethod
    def _with(row: Row, *, taken: int = 0, waiting: int = 0) -> Row:
        changed = list(row)
        for at, by in ((group.own, taken), (group.size + group.own, waiting)):
            changed[at] = max(changed[at] + by, 0)
        return tuple(changed)


class TenantPlaces:
    """The places of all tenants in the processes of the group; used by the event loop of each.

    A call without a place waits without a thread.
    """

    def __init__(
        self, *, most: int, most_waiting: int, wait_s: float, said: str = "calls of this tenant are worked on"
    ) -> None:
        """Begin with every place free.

        Args:
            most: The places of a tenant, >= 1.
            most_waiting: The most calls of a tenant waiting for a place.
            wait_s: Longest wait, in seconds.
            said: Words of the refusal, after the number.
        """
        self._most, self._most_waiting, self._wait_s, self._said = most, most_waiting, wait_s, said
        self._counts = SharedCounts()
        self._waiting: dict[UUID, deque[Event]] = {}
        self._look: asyncio.TimerHandle | None = None

    async def enter(self, tenant_id: UUID) -> None:
        """Take a place, at once or after a short wait.

        Raises:
            ProblemError: All places of the tenant are taken for too long, or too many calls wait already.
        """
        if tenant_id not in self._waiting and self._counts.take(tenant_id, self._most):
            return
        if not self._counts.wait(tenant_id, self._most_waiting):
            raise self._full()
        mine = Event()
        self._waiting.setdefault(tenant_id, deque()).append(mine)
        self._look_later()
        try:
            with move_on_after(self._wait_s):
                await mine.wait()
        except BaseException:
            if mine.is_set():
                self.leave(tenant_id)
            else:
                self._give_up(tenant_id, mine)
            raise
        if not mine.is_set():
            self._give_up(tenant_id, mine)
            raise self._full()

    def leave(self, tenant_id: UUID) -> None:
        """Free the place, and let the tenant's longest waiting call in."""
        self._counts.give_back(tenant_id, taken=1)
        self._admit(tenant_id)

    def _admit(self, tenant_id: UUID) -> None:
        waiting = self._waiting.get(tenant_id)
        while waiting and self._counts.take(tenant_id, self._most, waited=True):
            waiting.popleft().set()
        if waiting is not None and not waiting:
            del self._waiting[tenant_id]

    def _look_later(self) -> None:
        """Look for places that other processes leave, for as long as calls wait here."""
        if group.size > 1 and self._look is None:
            self._look = asyncio.get_running_loop().call_later(LOOK_S, self._look_now)

    def _look_now(self) -> None:
        self._look = None
        for tenant_id in list(self._waiting):
            self._admit(tenant_id)
        if self._waiting:
            self._look_later()

    def _give_up(self, tenant_id: UUID, mine: Event) -> None:
        waiting = self._waiting[tenant_id]
        waiting.remove(mine)
        if not waiting:
            del self._waiting[tenant_id]
        self._counts.give_back(tenant_id, waiting=1)

    def _full(self) -> ProblemError:
        return ProblemError(
            "rate-limited",
            f"{self._most} {self._said} already; nothing was changed, try again",
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
