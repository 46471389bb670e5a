"""Rate limit: a bucket that fills steadily, and buckets shared by all processes, in Redis or Valkey.

A bucket is stored as the moment of the next full bucket. A caller never waits long or connects.
"""

import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

ROUNDING_S = 1e-6
"""Smallest difference of times that counts, since times are sums of intervals."""


@dataclass(frozen=True)
class Rate:
    """A limit.

    Attributes:
        per_s: How many a second in the long run, > 0.
        burst: How many at once after a rest, >= 1.
    """

    per_s: float
    burst: int

    def __post_init__(self) -> None:
        if self.per_s <= 0 or self.burst < 1:
            raise ValueError("a rate is above 0 a second, and a burst at least 1")

    @property
    def interval_s(self) -> float:
        """Seconds until the bucket grows by one."""
        return 1 / self.per_s

    @property
    def capacity_s(self) -> float:
        """Seconds until an empty bucket is full."""
        return self.burst * self.interval_s


def take(full_at_s: float, now_s: float, rate: Rate) -> tuple[float, float]:
    """Take one from a bucket, if available.

    Args:
        full_at_s: The time of the full bucket; any past time for a full bucket.
        now_s: The present, on the same clock.
        rate: The limit.

    Returns:
        The new time of the full bucket, and the seconds to wait. A wait of 0 means success, and the first
        number has grown; a wait above 0 means nothing was taken.
    """
    after = max(full_at_s, now_s) + rate.interval_s
    wait_s = after - rate.capacity_s - now_s
    if wait_s <= ROUNDING_S:
        return after, 0.0
    return full_at_s, wait_s


log = structlog.get_logger()

CONNECTIONS = 8
"""Number of open connections; a call uses a connection for a fraction of a millisecond."""

FIRST_PAUSE_S = 0.5
MOST_PAUSE_S = 30.0
"""Maximum pause after failures of the store; pauses double."""

SCRIPT = """
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local interval, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
local full_at = tonumber(redis.call('GET', KEYS[1]) or '0')
local after = math.max(full_at, now) + interval
local wait = after - capacity - now
if wait > 0 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return 0
"""
"""The rule of `models.tenants.rate_limit.take`, in microseconds of the server clock."""


class Connection(Protocol):
    """The used part of a connection of the redis package."""

    def connect(self) -> None:
        """Connect and shake hands."""

    def disconnect(self) -> None:
        """Disconnect."""

    def send_command(self, *words: object) -> None:
        """Send a command."""

    def read_response(self) -> Any:
        """Read the server's answer."""


class SharedBuckets:
    """Token buckets of a store.

    Connections are made by a separate thread, possibly slowed by name lookups and handshakes. A call uses a
    ready connection, within a time limit, or learns at once that the store is away.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        """Name the store; nothing is connected before `prepare` or the first `take`.

        Args:
            url: URL as redis://, rediss:// or unix://, with the number of a database.
            timeout_s: Longest wait of a call for the store.
        """
        self._url, self._timeout_s = url, timeout_s
        self._ready: deque[Connection] = deque()
        self._pool: Any = None
        self._script = ""
        self._lock = threading.Lock()
        self._opener: threading.Thread | None = None
        self._rests_until, self._failures = 0.0, 0
        self._closed = False

    @property
    def is_ready(self) -> bool:
        """True when a connection is ready."""
        return bool(self._ready)

    def take(self, key: str, rate: Rate) -> float | None:
        """Take a token out of a bucket.

        Args:
            key: Key of the bucket.
            rate: Rate of the bucket.

        Returns:
            Seconds until a token is available, 0 with a token; None when the store is away.
        """
        try:
            connection = self._ready.pop()
        except IndexError:
            self.prepare()
            return None
        interval, capacity = (round(time_s * 1e6) for time_s in (rate.interval_s, rate.capacity_s))
        try:
            connection.send_command("EVALSHA", self._script, 1, f"afterturn:rate:{key}", interval, capacity)
            wait_us = int(connection.read_response())
        except Exception as error:  # noqa: BLE001 (the store may fail in any way, and the call goes on)
            self._give_up(connection, error)
            return None
        self._failures = 0
        self._ready.append(connection)
        return wait_us / 1e6

    def prepare(self) -> None:
        """Open connections in the background, unless a thread does so or the store rests; returns at once."""
        if time.monotonic() < self._rests_until or not self._lock.acquire(blocking=False):
            return
        try:
            if not self._closed and (self._opener is None or not self._opener.is_alive()):
                self._opener = threading.Thread(target=self._open, name="rate-store", daemon=True)
                self._opener.start()
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close every connection; the buckets stay in the store."""
        with self._lock:
            self._closed = True
            opener = self._opener
        if opener is not None:
            opener.join(5)
        while self._ready:
            self._ready.pop().disconnect()

    def _open(self) -> None:
        before = self._failures
        while not self._closed and len(self._ready) < CONNECTIONS:
            connection = None
            try:
                connection = self._connect()
            except Exception as error:  # noqa: BLE001 (as in `take`)
                self._give_up(connection, error)
                return
            self._ready.append(connection)
        if before:
            log.info("rate_store_back")

    def _connect(self) -> Connection:
        if self._pool is None:
            self._pool = self._make_pool()
        connection: Connection = self._pool.make_connection()
        try:
            connection.connect()
            connection.send_command("SCRIPT", "LOAD", SCRIPT)
            self._script = connection.read_response().decode()
        except Exception:
            connection.disconnect()
            raise
        return connection

    def _make_pool(self) -> Any:
        """Make a pool used only to make connections; a process without a store never imports redis."""
        from redis.backoff import NoBackoff  # noqa: PLC0415 (0.17 s, needed only with a store)
        from redis.connection import ConnectionPool  # noqa: PLC0415 (the same)
        from redis.retry import Retry  # noqa: PLC0415 (the same)

        return ConnectionPool.from_url(
            self._url,
            socket_timeout=self._timeout_s,
            socket_connect_timeout=self._timeout_s,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )

    def _give_up(self, connection: Connection | None, error: Exception) -> None:
        now = time.monotonic()
        if now >= self._rests_until:  # of calls that fail together, the first counts
            if self._failures == 0:
                log.warning("rate_store_away", error=type(error).__name__)
            self._failures += 1
            self._rests_until = now + min(FIRST_PAUSE_S * 2 ** min(self._failures - 1, 10), MOST_PAUSE_S)
        if connection is not None:
            with suppress(Exception):
                connection.disconnect()
