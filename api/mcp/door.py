"""Entry to the protocol: authentication and size limits, and a call in the form of the HTTP API."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeGuard

import pydantic_core
from anyio import Lock, create_task_group, sleep_forever, to_thread
from anyio.abc import TaskGroup, TaskStatus
from fastapi import Response
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.call import Call, reader
from api.mcp.visit import finish
from api.settings import api_settings

_VERSION = "2.0"
_INVALID_REQUEST = -32600
"""Protocol error code for JSON without a valid message."""


def refusal(raw: bytes) -> Response | None:
    """Refuse JSON other than a single message, without repeating any of the body.

    Args:
        raw: A body.

    Returns:
        A protocol error; None for a message, and for invalid JSON: the protocol reports the position.
    """
    try:
        message = pydantic_core.from_json(raw)  # as the protocol's own code reads it
    except ValueError:
        return None
    fault = fault_of(message)
    if fault is None:
        return None
    told = {"jsonrpc": _VERSION, "id": _id_of(message), "error": {"code": _INVALID_REQUEST, "message": fault}}
    return Response(json.dumps(told), 400, media_type="application/json")


def fault_of(message: object) -> str | None:
    """Explain the fault of a JSON-RPC message, with the expected form; None for a valid message."""
    if isinstance(message, list):
        return "body: a list of messages is not taken; send each by a POST of its own"
    if not isinstance(message, Mapping):
        return "body: must be an object: a message of JSON-RPC 2.0"
    if message.get("jsonrpc") != _VERSION:
        return f'jsonrpc: must be "{_VERSION}"'
    if "method" in message:
        return _fault_of_request(message)
    if "result" in message or "error" in message:
        return _fault_of_answer(message)
    return 'method: is missing; name one, such as "tools/list"'


def _fault_of_request(message: Mapping[str, object]) -> str | None:
    if not isinstance(message["method"], str):
        return "method: must be a string"
    if "id" in message and _id_of(message) is None:
        return "id: must be a string or a whole number; leave it out where no answer is wanted"
    if not isinstance(message.get("params"), Mapping | None):
        return "params: must be an object"
    return None


def _fault_of_answer(message: Mapping[str, object]) -> str | None:
    if "error" not in message:
        if _id_of(message) is None:
            return "id: must be that of the request that is answered"
        return None if isinstance(message["result"], Mapping) else "result: must be an object"
    if "id" not in message or (_id_of(message) is None and message["id"] is not None):
        return "id: must be that of the request that is answered, or null"
    error = message["error"]
    is_told = (
        isinstance(error, Mapping) and _is_whole(error.get("code")) and isinstance(error.get("message"), str)
    )
    return None if is_told else "error: must be an object with a whole number as `code` and a `message`"


def _id_of(message: object) -> str | int | None:
    found = message.get("id") if isinstance(message, Mapping) else None
    return found if isinstance(found, str) or _is_whole(found) else None


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


_read = reader(lambda settings: settings.mcp_max_body_bytes)


class McpDoor:
    """The ASGI application at `MCP_PATH`; stateless between calls, so any process can take the next call.

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
