"""Spans of requests if tracing is on, continuing the caller's trace."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import get_contextvars

from models.tracing import span

SERVER_FAULT = 500


class TraceRequests:
    """Begins a trace, or continues the trace in `traceparent`."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Trace a request, named by its route, since a path contains ids."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method = scope["method"]
        parent = Headers(scope=scope).get("traceparent")
        named = get_contextvars().get("request_id")
        with span(
            method, kind="server", parent=parent, http__request__method=method, afterturn__request_id=named
        ) as own:

            async def told(message: Message) -> None:
                if message["type"] == "http.response.start":
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
