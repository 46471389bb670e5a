"""Rate limits of keys: counted by all processes with a store, else by the processes that serve together."""

import math
import time

from api.http.errors import ProblemError
from api.http.shared_rows import SharedRows
from api.settings import api_settings
from context.providers.rate_limit import Rate, take
from models.tenants.rate_limit import SharedBuckets

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
