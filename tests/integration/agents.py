"""Helpers for tests of the Model Context Protocol: the API on a real port, and the SDK's own client."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import httpx2
import uvicorn
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, TextResourceContents

from afterturn.stack.compose import ReservedPorts
from api.app import make_app
from api.http.head_limits import BoundedHeads
from tests.waiting import wait_until

Found = TypeVar("Found")

ERAS = ("2026-07-28", "legacy")
"""Without and with a handshake."""
MESSAGES = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@contextmanager
def listening() -> Iterator[str]:
    """Serve the application on a port of loopback. Gives its address."""
    with ReservedPorts() as ports:
        port = ports.reserve(0)
        config = uvicorn.Config(
            make_app(),
            host="127.0.0.1",
            port=port,
            http=BoundedHeads,
            log_level="critical",
            ws="none",
            lifespan="on",
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            wait_until(lambda: server.started, within_s=30, what="the API listens")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


@dataclass(frozen=True)
class Agent:
    """Somebody with a key, and the SDK's client."""

    url: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        """What every call of theirs carries."""
        return {"authorization": f"Bearer {self.key}"}

    @asynccontextmanager
    async def connected(self, era: str = ERAS[0]) -> AsyncIterator[Client]:
        """Connect as the SDK does."""
        mode = "auto" if era == ERAS[0] else era
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=30) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client

    def do(self, ask: Callable[[Client], Awaitable[Found]], era: str = ERAS[0]) -> Found:
        """Connect, ask one thing, and leave."""

        async def visit() -> Found:
            async with self.connected(era) as client:
                return await ask(client)

        try:
            return asyncio.run(visit())
        except ExceptionGroup as group:  # the client's own tasks fail with it
            raise first_of(group) from None

    def call(self, tool: str, era: str = ERAS[0], **arguments: Any) -> CallToolResult:
        """Call one tool."""
        return self.do(lambda client: client.call_tool(tool, arguments), era)

    def answer(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers; its text says the same."""
        result = self.call(tool, **arguments)
        assert not result.is_error, said(result)
        assert json.loads(said(result)) == result.structured_content
        return result.structured_content

    def refusal(self, tool: str, **arguments: Any) -> Any:
        """The problem that a tool answers; its text names it too."""
        result = self.call(tool, **arguments)
        assert result.is_error
        problem: Any = result.structured_content
        assert said(result).startswith(f"{problem['type']}: {problem['detail']}")
        return problem

    def read(self, uri: str, era: str = ERAS[0]) -> Any:
        """Read one resource."""
        [contents] = self.do(lambda client: client.read_resource(uri), era).contents
        assert isinstance(contents, TextResourceContents)
        assert contents.mime_type == "application/json"
        return json.loads(contents.text)

    def http(self, method: str, path: str, **fields: Any) -> httpx.Response:
        """The same without the protocol."""
        return httpx.request(method, f"{self.url}{path}", headers=self.headers, timeout=30, **fields)

    def send(self, body: bytes | dict[str, Any], **headers: str) -> httpx.Response:
        """Send something that the SDK's client would not; an empty header is left out."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {name: value for name, value in {**MESSAGES, **self.headers, **headers}.items() if value}
        return httpx.post(f"{self.url}/mcp", content=content, headers=sent, timeout=30)


def said(result: CallToolResult) -> str:
    """The text of an answer."""
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def first_of(group: ExceptionGroup[Exception]) -> Exception:
    """The error at the bottom of a group."""
    error: Exception = group
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def request(method: str, **params: Any) -> dict[str, Any]:
    """A message that wants an answer."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
