"""Rate limits of keys: shared by all processes with a store, else per process."""

import math
import time
from threading import Lock

from api.http.errors import ProblemError
from api.settings import api_settings
from context.providers.rate_limit import Rate, take
from models.tenants.rate_limit import SharedBuckets


class LocalBuckets:
    """Token buckets of the process, used if the store is unavailable; as large as the store's."""

    def __init__(self, most: int = 10_000) -> None:
        """Hold at most a number of buckets below full."""
        self._full_at: dict[str, float] = {}
        self._most = most
        self._lock = Lock()

    def take(self, key: str, rate: Rate) -> float:
        """Take a token from a bucket; return the seconds until a token is available."""
        now = time.monotonic()
        with self._lock:
            if len(self._full_at) >= self._most:
                self._forget_the_full(now)
            self._full_at[key], wait_s = take(self._full_at.get(key, 0.0), now, rate)
        return wait_s

    def wait_s(self, key: str, rate: Rate) -> float:
        """Return the seconds until a token is available, without taking any."""
        return take(self._full_at.get(key, 0.0), time.monotonic(), rate)[1]

    def _forget_the_full(self, now: float) -> None:
        """Drop full buckets to free memory; if all are in use, clear all."""
        self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        if len(self._full_at) >= self._most:
            self._full_at.clear()


class CallLimits:
    """The limits of all keys."""

    def __init__(self) -> None:
        """Count for the process alone until `open`."""
        self._local = LocalBuckets()
        self._strangers = LocalBuckets()
        self._shared: SharedBuckets | None = None

    def open(self) -> None:
        """Begin with full buckets, and connect to the store if configured; returns at once."""
        settings = api_settings()
        self._local = LocalBuckets()
        self._strangers = LocalBuckets()
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
