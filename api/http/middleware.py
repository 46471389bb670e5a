"""Middleware of every request: request ids, traces, answer headers, durations and a log line."""

import base64
import hashlib
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from secrets import token_hex
from urllib.parse import quote, unquote

import structlog
from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from api.http.process_group import group
from api.settings import EVENTS_PATH, MCP_PATH
from models.base_settings import RELEASE
from models.database_errors import facts_of
from models.telemetry.tracing import sampled_trace_id, span

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


HEADER = "x-request-id"
TRACE_HEADER = b"x-trace-id"
GIVEN = re.compile(r"[A-Za-z0-9._-]{8,64}")
"""Valid request ids from callers: no free text, no line breaks."""


class _OfRequests:
    """Base of what surrounds an application: sees requests over HTTP, and passes everything else on."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        serve = self._serve if scope["type"] == "http" else self.app
        await serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError


class KeepAnswers(_OfRequests):
    """Keeps the connection of a whole answer where a task after it fails, for the next call."""

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and log an error behind its whole answer."""
        is_whole = False

        async def watched(message: Message) -> None:
            nonlocal is_whole
            await send(message)
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            await self.app(scope, receive, watched)
        except Exception as error:
            if not is_whole:
                raise
            log.error("task_after_answer_failed", **facts_of(error))  # noqa: TRY400 (a trace would hold text)


class SplitPaths(_OfRequests):
    """Gives the routes a path that is split before it is decoded: a slash inside an id names no other route.

    The parts stay encoded, all in one way; `read_ids` decodes those that are ids.
    """

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Split the path as sent."""
        sent = scope.get("raw_path", b"").decode() or quote(scope["path"])
        if "%" in sent:
            scope["path"] = "/".join(quote(unquote(part), safe="") for part in sent.split("/"))
        await self.app(scope, receive, send)


class NameRequests(_OfRequests):
    """Takes the caller's request id, or makes a new id."""

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the id of a request, for its threads and background tasks too."""
        given = Headers(scope=scope).get(HEADER, "")
        name = given if GIVEN.fullmatch(given) else token_hex(8)
        clear_contextvars()
        bind_contextvars(request_id=name)

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (HEADER.encode(), name.encode())]
            await send(message)

        await self.app(scope, receive, named)


SERVER_FAULT = 500


class TraceRequests(_OfRequests):
    """Begins a trace, or continues the trace in `traceparent`; the answer names a trace that is sent."""

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Trace a request, named by its route, since a path contains ids; a probe is asked too often."""
        if scope["path"] in PROBES:
            await self.app(scope, receive, send)
            return
        method = scope["method"]
        parent = Headers(scope=scope).get("traceparent")
        named = get_contextvars().get("request_id")
        with span(
            method, kind="server", parent=parent, http__request__method=method, afterturn__request_id=named
        ) as own:
            trace_id = sampled_trace_id()

            async def told(message: Message) -> None:
                if message["type"] == "http.response.start":
                    if trace_id is not None:
                        message["headers"] = [*message.get("headers", []), (TRACE_HEADER, trace_id.encode())]
                    own.tell(http__response__status_code=message["status"])
                    if message["status"] < FIRST_FAULT:  # a refused id may be any text
                        own.tell(session__id=scope.get("path_params", {}).get("session_id"))
                    if message["status"] >= SERVER_FAULT:
                        own.fail(str(message["status"]))
                await send(message)

            try:
                await self.app(scope, receive, told)
            finally:
                route = getattr(scope.get("route"), "path", None)
                own.tell(http__route=route)
                own.rename(f"{method} {route}" if route else method)


PAGES = frozenset({"/docs", "/redoc", "/docs/oauth2-redirect"})
"""Pages of the framework, with scripts of their own."""

_NOSNIFF = (b"x-content-type-options", b"nosniff")
_POLICY = b"content-security-policy"
_HTML = b"text/html"
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class GuardAnswers(_OfRequests):
    """Stop browsers from guessing content types, framing API pages, or running foreign scripts."""

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to an answer."""
        held: list[Message] = []

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", [])}
                if _NOSNIFF[0] not in names:
                    message["headers"] = [*message.get("headers", []), _NOSNIFF]
                if scope["path"] in PAGES and _is_page(message):
                    held.append(message)  # its policy names the scripts of the body
                    return
            if held and message["type"] == "http.response.body":
                start = held.pop()
                start["headers"] = [*start["headers"], (_POLICY, page_policy(message.get("body", b"")))]
                await send(start)
            await send(message)

        await self.app(scope, receive, guarded)


def _is_page(start: Message) -> bool:
    return any(name.lower() == b"content-type" and _HTML in value for name, value in start["headers"])


def page_policy(page: bytes) -> bytes:
    """Write the security policy of a page with inline scripts, allowed by their hashes only.

    Args:
        page: The page's HTML.
    """
    scripts = " ".join(["'self'", *_hashes(_SCRIPT.findall(page))])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ).encode()


def _hashes(scripts: Sequence[bytes]) -> list[str]:
    return [f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in scripts]
