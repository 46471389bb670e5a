"""The only import of litellm: late, offline, silent, and over a session with deadlines."""

import atexit
import logging
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType

import httpx

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else the import asks the network for prices
    "LITELLM_OFFLINE_MODE": "true",  # the same for everything else that it fetches on its own
    "LITELLM_LOG": "CRITICAL",  # it logs prompts
    "LOGGING_EXECUTOR_MAX_THREADS": "4",  # its default is 100 threads a process
}
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


@dataclass
class WireState:
    """Network limits of a call, and the observed answer.

    Attributes:
        ends_at: Deadline, on the monotonic clock.
        connect_s: Longest time of connecting.
        most_bytes: Maximum bytes of an answer on the wire.
        status: Status of the last answer; None before an answer.
        is_full: True if an answer was cut at the maximum.
    """

    ends_at: float
    connect_s: float
    most_bytes: int
    status: int | None = field(default=None)
    is_full: bool = field(default=False)

    @property
    def left_s(self) -> float:
        """Seconds left; never 0, since some layers read 0 as no limit."""
        return max(self.ends_at - time.monotonic(), 0.001)


class _Active(threading.local):
    wire: WireState | None = None


_active = _Active()


def use_wire(wire: WireState) -> None:
    """Bind the network limits of this thread's call; every call has a separate thread."""
    _active.wire = wire


_MOST_PACKED = 64
"""Maximum factor between unpacked and packed size, for an answer packed without request."""


class _BoundedStream(httpx.SyncByteStream):
    """A response body that stops at the deadline, even in a slow and steady drip, and at the size limit."""

    def __init__(self, body: httpx.SyncByteStream, wire: WireState, most_bytes: int) -> None:
        self._body = body
        self._wire = wire
        self._most_bytes = most_bytes

    def __iter__(self) -> Iterator[bytes]:
        arrived = 0
        for chunk in self._body:
            if time.monotonic() > self._wire.ends_at:
                raise httpx.ReadTimeout("the deadline passed while the answer was arriving")
            arrived += len(chunk)
            if arrived > self._most_bytes:
                self._wire.is_full = True
                raise httpx.ReadError("the answer is larger than any that was asked for")
            yield chunk

    def close(self) -> None:
        self._body.close()


def _limit_request(request: httpx.Request) -> None:
    wire = _active.wire
    if wire is not None:
        left_s = wire.left_s
        limits = {"connect": min(wire.connect_s, left_s), "read": left_s, "write": left_s, "pool": left_s}
        request.extensions = {**request.extensions, "timeout": limits}
        request.headers["Accept-Encoding"] = "identity"  # a few packed bytes can be many


def _limit_response(response: httpx.Response) -> None:
    wire = _active.wire
    if wire is not None and isinstance(response.stream, httpx.SyncByteStream):
        wire.status = response.status_code
        is_plain = response.headers.get("Content-Encoding", "identity").strip().lower() in {"", "identity"}
        most_bytes = wire.most_bytes if is_plain else wire.most_bytes // _MOST_PACKED
        response.stream = _BoundedStream(response.stream, wire, most_bytes)


@lru_cache
def load() -> ModuleType:
    """Import litellm at the first call: offline except for calls, no telemetry, no content in the logs."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm  # noqa: PLC0415 - 5 s and 200 MB, for the processes that call models only
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration  # noqa: PLC0415

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.callbacks = []
    litellm.success_callback = []
    litellm.failure_callback = []
    litellm.num_retries = 0
    litellm.client_session = session = httpx.Client(
        verify=get_ssl_configuration(),
        follow_redirects=True,
        event_hooks={"request": [_limit_request], "response": [_limit_response]},
    )
    atexit.register(session.close)
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # at INFO it logs addresses, keys in them included
    module: ModuleType = litellm
    return module
