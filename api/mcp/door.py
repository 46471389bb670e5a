"""Entry to the protocol: authentication and size limits before any protocol code."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from anyio import Lock, create_task_group, sleep_forever, to_thread
from anyio.abc import TaskGroup, TaskStatus
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.call import Call, reader
from api.mcp.message import refusal
from api.mcp.visit import finish
from api.settings import api_settings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"

_read = reader(lambda settings: settings.mcp_max_body_bytes)


class McpDoor:
    """The ASGI application at `PATH`; stateless between calls, so any process can take the next call.

    The protocol's code is imported by the first authenticated call, since most processes never need the
    protocol.
    """

    def __init__(self) -> None:
        """Stay closed until `open`."""
        self._tasks: TaskGroup | None = None
        self._protocol: ASGIApp | None = None
        self._starting = Lock()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Answer calls while the block runs."""
        async with create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = self._protocol = None
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call.

        Raises:
            ProblemError: The call has no key with read access, or is too large.
            HTTPException: The method is not POST: the server never pushes, and has no sessions to end.
        """
        request = Request(scope, receive)
        await to_thread.run_sync(Call(request, b"").caller, "read")
        if request.method != "POST":
            raise HTTPException(405, "send the messages of the protocol by POST")
        call = await _read(request)  # they leave when they are done, with a word of the protocol half said
        refused = refusal(call.raw)
        if refused is not None:
            await refused(scope, receive, send)
            return
        protocol = await self._ready()
        await protocol(scope, _again(call.raw, receive), send)
        await finish(scope)

    async def _ready(self) -> ASGIApp:
        async with self._starting:
            if self._protocol is None:
                if self._tasks is None:
                    message = "the application was not started"
                    raise RuntimeError(message)
                self._protocol = await self._tasks.start(_speak)
            return self._protocol


async def _speak(*, task_status: TaskStatus[ASGIApp]) -> None:
    """Run the protocol's tasks; tasks must end in their starting task."""
    manager = await to_thread.run_sync(_load)
    async with manager.run():
        task_status.started(manager.handle_request)
        await sleep_forever()


def _load() -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 (0.8 s, 19 MB)

    from api.mcp.server import make_server  # noqa: PLC0415 (the same)

    return StreamableHTTPSessionManager(
        make_server(),
        json_response=True,
        stateless=True,
        max_request_body_size=api_settings().mcp_max_body_bytes,
    )


def _again(body: bytes, receive: Receive) -> Receive:
    """Make a receive function for an already read body, followed by further messages."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return unread.pop() if unread else await receive()

    return next_message
