"""Request ids: in every log line of a request and in its answer."""

import re
from secrets import token_hex

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, clear_contextvars

HEADER = "x-request-id"
GIVEN = re.compile(r"[A-Za-z0-9._-]{8,64}")
"""Valid request ids from callers: no free text, no line breaks."""


class NameRequests:
    """Takes the caller's request id, or makes a new id."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the id of a request, for its threads and background tasks too."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        name = given if GIVEN.fullmatch(given) else token_hex(8)
        clear_contextvars()
        bind_contextvars(request_id=name)

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (HEADER.encode(), name.encode())]
            await send(message)

        await self.app(scope, receive, named)
