"""Limits of a connection: on request heads, before authentication, and on the time between calls."""

import asyncio
from typing import Any

import orjson
from anyio import Event
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from api.settings import api_settings

END = "afterturn.end"
"""Key of a request's scope: the event by which an endless answer learns that the server stops."""

_PER_HEADER = 4
"""Bytes of separators around a header's name and value."""


class BoundedHeads(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with limits on request heads and on the time between calls."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Take uvicorn's arguments for a connection."""
        super().__init__(*args, **named)
        settings = api_settings()
        self._most_bytes, self._most_s = settings.max_head_bytes, settings.head_timeout_s
        self.timeout_keep_alive = settings.idle_connection_s
        self._waiting: asyncio.TimerHandle | None = None
        self._read = 0
        self._is_too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first head."""
        super().connection_made(transport)
        self._wait()

    def shutdown(self) -> None:
        """Let an endless answer come to its end, then shut down."""
        super().shutdown()
        end = None if self.transport.is_closing() else self.scope.get(END)
        if isinstance(end, Event):
            end.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read data; refuse a head over the size limit."""
        super().data_received(data)
        if self._waiting is None or self.transport.is_closing():
            return
        self._read += len(data)
        if self._read > self._most_bytes:
            self._refuse()

    def on_message_begin(self) -> None:
        """Start the time limit of a head."""
        super().on_message_begin()
        self._read = 0
        if self._waiting is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Check a complete head.

        Raises:
            ValueError: The head is too large; the parser stops.
        """
        self._stop_waiting()
        size = len(self.url) + sum(len(name) + len(value) + _PER_HEADER for name, value in self.headers)
        if size > self._most_bytes:
            self._is_too_large = True
            raise ValueError
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse an unreadable request; name the size limit if exceeded."""
        if self._is_too_large:
            self._refuse()
        else:
            super().send_400_response(msg)

    def _refuse(self) -> None:
        self._end(431, "Head too large", f"head: larger than {self._most_bytes} bytes")

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self._most_s, self._out_of_time)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _out_of_time(self) -> None:
        if self._is_answering():
            self._wait()  # an earlier request of this connection is still being answered
            return
        self._waiting = None
        if not self._read:  # a connection opened ahead: what is said now would answer a request of later
            self.transport.close()
            return
        self._end(408, "Head timeout", f"head: did not arrive within {self._most_s:g} s")

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # none before the first head is whole
        return cycle is not None and not cycle.response_complete

    def _end(self, status: int, phrase: str, detail: str) -> None:
        """Answer with a problem document, and close the connection."""
        code = phrase.lower().replace(" ", "-")
        problem = {"field": "head", "type": code, "title": phrase, "status": status, "detail": detail}
        body = orjson.dumps(problem)
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
