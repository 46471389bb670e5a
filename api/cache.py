"""Values kept for a while in the memory of a process, to save a query per call."""

import time
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

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
