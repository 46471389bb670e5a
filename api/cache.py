"""Caches of a process: values fresh for a while, values used recently, and lessons learned about models."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from math import inf
from threading import Lock
from typing import Any, Generic, TypeVar
from uuid import UUID
from weakref import WeakSet

from api.settings import api_settings
from context.providers.usage import model_key
from models.scope import Scope

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class FreshCache(Generic[Key, Value]):
    """Values by key, each fresh for a limited time; of too many values the oldest is dropped."""

    def __init__(self, fresh_s: Callable[[], float], most: int = 10_000) -> None:
        """Start empty.

        Args:
            fresh_s: Return the seconds for which a value is fresh from now on.
            most: Maximum number of values.
        """
        self._kept: dict[Key, tuple[float, Value]] = {}
        self._fresh_s = fresh_s
        self._most = most
        self._lock = Lock()

    def fresh(self, key: Key) -> Value | None:
        """Return the value of a key; None for no value, or for an old value."""
        kept = self._kept.get(key)
        return kept[1] if kept is not None and time.monotonic() < kept[0] else None

    def find(self, key: Key, read: Callable[[], Value]) -> Value:
        """Return the value of a key, read anew if it is not fresh."""
        kept = self._kept.get(key)
        if kept is not None and time.monotonic() < kept[0]:
            return kept[1]
        since = time.monotonic()
        return self.keep(key, read(), since=since)

    def keep(self, key: Key, value: Value, *, since: float | None = None) -> Value:
        """Keep a value, fresh since a time: the start of reading it; None for now. Returns the value."""
        until = (time.monotonic() if since is None else since) + self._fresh_s()
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = (until, value)
            if len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return value

    def drop(self, key: Key) -> None:
        """Forget the value of a key."""
        with self._lock:
            self._kept.pop(key, None)

    def forget(self) -> None:
        """Forget all values."""
        with self._lock:
            self._kept.clear()


TEXT_UNUSED_S = 300.0
"""Seconds after which a text that nobody read again leaves the process: it may have been erased meanwhile."""


class RecentCache(Generic[Key, Value]):
    """Values by key up to a total weight; the least recently used value is dropped first."""

    def __init__(
        self, most: Callable[[], float], weigh: Callable[[Value], float] = lambda _: 1, unused_s: float = inf
    ) -> None:
        """Start empty.

        Args:
            most: Return the greatest total weight.
            weigh: Return the weight of a value; a constant.
            unused_s: Seconds after which an unused value is dropped while `forgetting_unused` runs.
        """
        self._kept: OrderedDict[Key, tuple[float, float, Value]] = OrderedDict()
        self._held = 0.0
        self._most, self._weigh, self._unused_s = most, weigh, unused_s
        self._lock = Lock()
        if unused_s < inf:
            _with_texts.add(self)

    def get(self, key: Key) -> Value | None:
        """Return the value of a key; None for no value."""
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is None:
                return None
            weight, _, value = kept
            self._kept[key] = weight, time.monotonic(), value
            return value

    def find(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key, or make the value; two simultaneous calls may make it twice."""
        kept = self.get(key)
        return self.keep(key, make()) if kept is None else kept

    def keep(self, key: Key, value: Value) -> Value:
        """Keep a value, unless it alone is above the total weight. Returns the value."""
        weight, most = self._weigh(value), self._most()
        with self._lock:
            self._held -= self._kept.pop(key, (0.0,))[0]
            if weight <= most:
                self._held += weight
                self._kept[key] = weight, time.monotonic(), value
            while self._held > most:
                self._drop_oldest()
        return value

    def forget_unused(self) -> None:
        """Drop the values that nobody used for a while."""
        with self._lock:
            while self._kept and next(iter(self._kept.values()))[1] < time.monotonic() - self._unused_s:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._held -= self._kept.popitem(last=False)[1][0]


_with_texts: WeakSet[RecentCache[Any, Any]] = WeakSet()


@asynccontextmanager
async def forgetting_unused(every_s: float = TEXT_UNUSED_S / 10) -> AsyncIterator[None]:
    """Drop unused texts from the caches of the process while the block runs."""

    async def forget() -> None:
        while True:
            await asyncio.sleep(every_s)
            for cache in list(_with_texts):
                cache.forget_unused()

    task = asyncio.create_task(forget())
    try:
        yield
    finally:
        task.cancel()


class LessonCache(Generic[Value]):
    """Lessons by tenant and model, to save a query per read."""

    def __init__(self, load: Callable[[Scope, str], Value], is_settled: Callable[[Value], bool]) -> None:
        """Take the query, and the test for a lesson that few more reports would change."""
        self._load, self._is_settled = load, is_settled
        self._known = FreshCache[tuple[UUID, str], Value](lambda: api_settings().calibration_cache_s)
        self._learned = FreshCache[tuple[UUID, str], Value](
            lambda: api_settings().calibration_settled_every_s
        )

    def find(self, tenant_id: UUID, model: str) -> Value:
        """Find a model's lesson."""

        def read() -> Value:
            with Scope.read(tenant_id) as scope:
                return self._load(scope, model)

        return self._known.find((tenant_id, model_key(model)), read)

    def learn(self, tenant_id: UUID, model: str, lesson: Value) -> None:
        """Keep the lesson of a report learned now."""
        for cache in (self._known, self._learned):
            cache.keep((tenant_id, model_key(model)), lesson)

    def forget(self) -> None:
        """Forget all lessons, so that the next read asks the database."""
        self._known.forget()
        self._learned.forget()

    def is_sampled_out(self, tenant_id: UUID, model: str) -> bool:
        """Tell whether a settled model's report was learned recently."""
        lesson = self._learned.fresh((tenant_id, model_key(model)))
        return lesson is not None and self._is_settled(lesson)
