"""Middleware of every request: request ids, traces, answer headers."""

import base64
import hashlib
import re
from collections.abc import Sequence
from secrets import token_hex

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from models.telemetry.tracing import sampled_trace_id, span

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
        """Trace a request, named by its route, since a path contains ids."""
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
