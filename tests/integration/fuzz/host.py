"""The application without a network: in a loop of its own, called as a server calls it."""

import asyncio
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Self
from urllib.parse import unquote

from fastapi import FastAPI
from starlette.types import Message, Scope

Headers = Sequence[tuple[bytes, bytes]]

LONGEST_S = 120.0
"""Whoever waits longer for an answer, or for a start, waits for ever."""


@dataclass(frozen=True)
class Sent:
    """A request as it stands on the wire.

    Attributes:
        method: Such as GET.
        target: The path and the query, in ASCII.
        headers: In their order, their names in lower case.
        pieces: The body, as it comes in.
        hangs_up: Whether the caller leaves after the last piece, as if there were more.
    """

    method: str
    target: str
    headers: Headers = ()
    pieces: Sequence[bytes] = ()
    hangs_up: bool = False

    def scope(self) -> Scope:
        """What a server says of it."""
        path, _, query = self.target.partition("?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": list(self.headers),
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 80),
            "state": {},
        }


@dataclass
class Got:
    """An answer. Its status is 0 while there is none."""

    status: int = 0
    content_type: str = ""
    content: bytes = b""
    is_whole: bool = False

    def take(self, message: Message) -> None:
        """Take in what the application sends."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.content_type = dict(message["headers"]).get(b"content-type", b"").decode("latin-1")
        elif message["type"] == "http.response.body":
            self.content += message.get("body", b"")
            self.is_whole = not message.get("more_body", False)


@dataclass
class Host:
    """Runs an application, and sees the exceptions that leave it.

    Attributes:
        app: The application.
        document: Its OpenAPI document.
        seen: The exceptions.
    """

    app: FastAPI
    document: dict[str, Any]
    seen: list[str] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    @classmethod
    @contextmanager
    def running(cls, app: FastAPI) -> Iterator[Self]:
        """Run an application while the block runs."""
        host, ready, done = cls(app, app.openapi()), Event(), asyncio.Event()
        thread = Thread(target=host._run, args=(ready, done), name="host", daemon=True)
        thread.start()
        if not ready.wait(LONGEST_S):
            raise TimeoutError("the application does not start")
        try:
            yield host
        finally:
            host._loop.call_soon_threadsafe(done.set)
            thread.join(LONGEST_S)

    def _run(self, ready: Event, done: asyncio.Event) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._live(ready, done))

    async def _live(self, ready: Event, done: asyncio.Event) -> None:
        async with self.app.router.lifespan_context(self.app):
            ready.set()
            await done.wait()

    def answer(self, *requests: Sent) -> list[Got]:
        """Hand requests on, all at the same time, and wait for their answers.

        Raises:
            TimeoutError: There is no end to one of them.
        """
        begin = asyncio.run_coroutine_threadsafe  # in a context that knows nothing of this thread
        return Context().run(begin, self._all(requests), self._loop).result(LONGEST_S)

    async def _all(self, requests: Sequence[Sent]) -> list[Got]:
        return await asyncio.gather(*map(self._answer, requests))

    async def _answer(self, sent: Sent) -> Got:
        scope = sent.scope()
        got, unread, done = Got(), list(_messages(sent))[::-1], asyncio.Event()

        async def receive() -> Message:
            if unread:
                return unread.pop()
            if not sent.hangs_up:  # the caller waits until it has its answer
                await done.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            got.take(message)

        try:
            await self.app(scope, receive, send)
        except Exception:  # noqa: BLE001 - a server answers whatever the application raises
            self.seen.append(traceback.format_exc())
            got.status = got.status or 500
        finally:
            done.set()
        got.status = got.status or 500  # what ends without an answer is counted as a fault by the application
        return got


def _messages(sent: Sent) -> Iterator[Message]:
    pieces = list(sent.pieces) or [b""]
    for place, piece in enumerate(pieces, 1):
        more = sent.hangs_up or place < len(pieces)
        yield {"type": "http.request", "body": piece, "more_body": more}
