"""Durations of requests, by path template: a path itself contains ids."""

import time

from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector, disable_created_metrics
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.mcp.door import PATH as MCP_PATH

OWN_PATHS = frozenset({MCP_PATH})
"""Paths of routes outside of the API's endpoints, without ids."""

UNKNOWN = "none"
"""Route label of an unmatched request."""

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

disable_created_metrics()  # type: ignore[no-untyped-call]


class RequestTimes:
    """Measurements of a process and its requests."""

    def __init__(self) -> None:
        """Start with empty measurements."""
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "afterturn_http_request_seconds",
            "Time until an answer was sent whole, by route.",
            ("method", "route", "status"),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self.running = Gauge("afterturn_http_requests_running", "Requests under way.", registry=self.registry)
        ProcessCollector(registry=self.registry)


class MeasureRequests:
    """Times every request around the whole application."""

    def __init__(self, app: ASGIApp, times: RequestTimes) -> None:
        """Wrap an application."""
        self.app, self.times = app, times

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Time a request; a request without an answer counts as a fault."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500
        started = time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            with self.times.running.track_inprogress():
                await self.app(scope, receive, watched)
        finally:
            labels = (_method(scope), route_of(scope), f"{status // 100}xx")
            self.times.seconds.labels(*labels).observe(time.perf_counter() - started)


def route_of(scope: Scope) -> str:
    """Return the matched route's template, such as `/v1/sessions/{session_id}/turns`."""
    template = getattr(scope.get("route"), "path", None)
    if isinstance(template, str):
        return template
    return scope["path"] if scope.get("path") in OWN_PATHS else UNKNOWN


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else UNKNOWN
