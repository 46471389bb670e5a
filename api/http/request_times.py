"""Durations of requests and a log line for each, by path template: a path itself contains ids."""

import time
from collections import defaultdict
from collections.abc import Iterator

import structlog
from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.process_group import group
from api.settings import EVENTS_PATH, MCP_PATH
from models.release import RELEASE

OWN_PATHS = frozenset({MCP_PATH})
"""Paths of routes outside of the API's endpoints, without ids."""

ENDLESS = frozenset({EVENTS_PATH})
"""Paths of endless answers, measured until they begin."""

UNKNOWN = "none"
"""Route label of an unmatched request."""

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that machines ask every few seconds; only a failed probe is logged."""

FIRST_FAULT = 400

TENANT = "afterturn.tenant"
"""Key in the scope of a request for the caller's tenant; absent without a valid key."""

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

log = structlog.get_logger()

BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

disable_created_metrics()  # type: ignore[no-untyped-call]


class GroupCollector(Collector):
    """Processor time, memory and files of all processes of the group together."""

    def collect(self) -> Iterator[Metric]:
        """Yield each figure once: the oldest start, and the sums of the others."""
        found: dict[str, list[Metric]] = defaultdict(list)
        for pid in group.pids():
            for metric in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
                found[metric.name].append(metric)
        for name, (metric, *others) in found.items():
            values = [one.samples[0].value for one in (metric, *others)]
            total = min(values) if name == "process_start_time_seconds" else sum(values)
            if name == "process_cpu_seconds":
                total += group.used_by_dead_s
            metric.samples = [metric.samples[0]._replace(value=total)]
            yield metric


class RequestTimes:
    """Measurements of the processes that serve together, and of their requests."""

    def __init__(self) -> None:
        """Start with empty measurements."""
        self.registry = CollectorRegistry()
        own = self.registry
        if group.size > 1:  # every process writes its values into files, which whoever is asked adds up
            own = CollectorRegistry()
            MultiProcessCollector(self.registry)  # type: ignore[no-untyped-call]
        self.seconds = Histogram(
            "afterturn_http_request_seconds",
            "Time until an answer was sent whole, by route.",
            ("method", "route", "status"),
            buckets=BUCKETS_S,
            registry=own,
        )
        self.running = Gauge(
            "afterturn_http_requests_running",
            "Requests under way.",
            registry=own,
            multiprocess_mode="livesum",
        )
        release = Gauge(
            *("afterturn_release", "Release of this process.", ("release",)),
            registry=own,
            multiprocess_mode="livemax",
        )
        release.labels(RELEASE).set(1)
        self.registry.register(GroupCollector())


class MeasureRequests:
    """Times every request around the whole application, and logs the request."""

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
        ended: float | None = None

        async def watched(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                if scope["path"] in ENDLESS:
                    ended = time.perf_counter()
            await send(message)

        try:
            with self.times.running.track_inprogress():
                await self.app(scope, receive, watched)
        finally:
            method, route = _method(scope), route_of(scope)
            spent_s = (ended or time.perf_counter()) - started
            self.times.seconds.labels(method, route, f"{status // 100}xx").observe(spent_s)
            if route not in PROBES or status >= FIRST_FAULT:
                tenant = scope.get(TENANT)
                ms = round(spent_s * 1000, 1)
                log.info("request_done", method=method, route=route, status=status, ms=ms, tenant_id=tenant)


def route_of(scope: Scope) -> str:
    """Return the matched route's template, such as `/v1/sessions/{session_id}/turns`."""
    template = getattr(scope.get("route"), "path", None)
    if isinstance(template, str):
        return template
    return scope["path"] if scope.get("path") in OWN_PATHS else UNKNOWN


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else UNKNOWN
