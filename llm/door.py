"""The one import of litellm: late, offline, silent, and over a session that keeps deadlines."""

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
class Wire:
    """What one call may do on the network, and what it has seen there.

    Attributes:
        ends_at: When it must be over, on the monotonic clock.
        connect_s: The longest a connection may take.
        status: The status of the last answer; None before one has arrived.
    """

    ends_at: float
    connect_s: float
    status: int | None = field(default=None)

    @property
    def left_s(self) -> float:
        """How long it may still take; never 0, which some layers read as no limit."""
        return max(self.ends_at - time.monotonic(), 0.001)


class _Active(threading.local):
    wire: Wire | None = None


_active = _Active()


def use_wire(wire: Wire) -> None:
    """Bind the network limits of this thread's call; every call has a thread of its own."""
    _active.wire = wire


class _DeadlineStream(httpx.SyncByteStream):
    """A response body that stops at the deadline, however slowly and steadily it drips."""

    def __init__(self, body: httpx.SyncByteStream, wire: Wire) -> None:
        self._body = body
        self._wire = wire

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._body:
            if time.monotonic() > self._wire.ends_at:
                raise httpx.ReadTimeout("the deadline passed while the answer was arriving")
            yield chunk

    def close(self) -> None:
        self._body.close()


def _limit_request(request: httpx.Request) -> None:
    wire = _active.wire
    if wire is not None:
        left_s = wire.left_s
        limits = {"connect": min(wire.connect_s, left_s), "read": left_s, "write": left_s, "pool": left_s}
        request.extensions = {**request.extensions, "timeout": limits}


def _limit_response(response: httpx.Response) -> None:
    wire = _active.wire
    if wire is not None and isinstance(response.stream, httpx.SyncByteStream):
        wire.status = response.status_code
        response.stream = _DeadlineStream(response.stream, wire)


@lru_cache
def load() -> ModuleType:
    """Import litellm at the first call: offline but for the calls, no telemetry, no content in its logs."""
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
