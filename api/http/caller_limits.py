"""Limits of callers: rate by key, and concurrent calls by tenant."""

import asyncio
import math
import time
from collections import deque
from uuid import UUID

from anyio import Event, move_on_after
from starlette.types import ASGIApp, Receive, Scope, Send

from api.http.errors import ProblemError
from api.http.process_group import Row, SharedRows, group
from api.settings import api_settings
from models.tenants.rate_limit import Rate, SharedBuckets, take

FULL = (0.0,)
"""Row of a full bucket."""


class LocalBuckets:
    """Token buckets of the processes that serve together, used if the store is unavailable."""

    def __init__(self, sets: int = 2_048) -> None:
        """Hold at most a number of buckets below full; of too many, the fullest are dropped."""
        self._rows = SharedRows("d", lambda row: row[0] - time.monotonic(), sets)

    def take(self, key: str, rate: Rate) -> float:
        """Take a token from a bucket; return the seconds until a token is available."""
        with self._rows.held(key) as (mark, rows):
            full_at, wait_s = take(rows.get(mark, FULL)[0], time.monotonic(), rate)
            rows[mark] = (full_at,)
        return wait_s

    def wait_s(self, key: str, rate: Rate) -> float:
        """Return the seconds until a token is available, without taking any."""
        return take((self._rows.find(key) or FULL)[0], time.monotonic(), rate)[1]


class CallLimits:
    """The limits of all keys."""

    def __init__(self) -> None:
        """Count without a store until `open`."""
        self.begin()
        self._shared: SharedBuckets | None = None

    def begin(self) -> None:
        """Begin with full buckets; processes forked later count in the same ones."""
        self._local = LocalBuckets()
        self._strangers = LocalBuckets()

    def open(self) -> None:
        """Connect to the store if configured; returns at once."""
        settings = api_settings()
        if settings.rate is not None and settings.rate_url:
            self._shared = SharedBuckets(settings.rate_url, settings.rate_timeout_ms / 1000)
            self._shared.prepare()

    def close(self) -> None:
        """Disconnect from the store."""
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()

    def meet(self, address: str) -> None:
        """Check the number of wrong keys from an address.

        Raises:
            ProblemError: The address sent too many wrong keys; with the time of the next try.
        """
        rate = api_settings().wrong_key_rate
        wait_s = self._strangers.wait_s(address, rate) if rate is not None else 0.0
        if wait_s > 0:
            raise ProblemError(
                "rate-limited", "too many wrong keys came from this address", retry_after_s=math.ceil(wait_s)
            )

    def note_wrong_key(self, address: str) -> None:
        """Count a wrong key of an address."""
        rate = api_settings().wrong_key_rate
        if rate is not None:
            self._strangers.take(address, rate)

    def charge(self, key_id: str) -> None:
        """Count a call of a key.

        Raises:
            ProblemError: The key is over its limit; with the time of the next call.
        """
        rate = api_settings().rate
        if rate is None:
            return
        wait_s = self._shared.take(key_id, rate) if self._shared is not None else None
        if wait_s is None:
            wait_s = self._local.take(key_id, rate)
        if wait_s > 0:
            raise ProblemError(
                "rate-limited",
                f"this key may call {rate.per_s:g} times a second, {rate.burst} times at once after a rest",
                per_s=rate.per_s,
                burst=rate.burst,
                retry_after_s=math.ceil(wait_s),
            )


limits = CallLimits()


_PLACE, _CHANGE = "afterturn.place", "afterturn.change"

WRITERS_SHARE = 0.75
"""Share of all calls with session changes: of the threads, and of a tenant's places."""

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


async def take_place(scope: Scope, tenant_id: UUID, *, changes: bool = False) -> None:
    """Take a place for a request until its answer is sent; repeated calls take no further place.

    A call with changes to sessions takes a place among the changes first, so that some of the tenant's places
    are left to reads whatever the changes wait for.

    Raises:
        ProblemError: The tenant has no free place.
    """
    state = scope["app"].state
    for name, places in ((_CHANGE, state.change_places if changes else None), (_PLACE, state.places)):
        if places is not None and name not in scope:
            await places.enter(tenant_id)
            scope[name] = tenant_id


class KeepPlaces:
    """Frees the places of a request at its end, in any case."""

    def __init__(self, app: ASGIApp, places: TenantPlaces, change_places: TenantPlaces) -> None:
        """Wrap an application."""
        self.app, self._places = app, {_PLACE: places, _CHANGE: change_places}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            await self.app(scope, receive, send)
        finally:
            for name, places in self._places.items():
                if name in scope:
                    places.leave(scope.pop(name))
