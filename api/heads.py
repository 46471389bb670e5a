"""The heads of requests: their size and their time are bounded before anybody is asked who sends them."""

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from api.settings import api_settings

_PER_HEADER = 4
"""The bytes between a header's name and its value, and after it."""


class BoundedHeads(HttpToolsProtocol):
    """Uvicorn's own way to read requests, which bounds neither the size of their heads nor the time."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Take what uvicorn gives to each connection."""
        super().__init__(*args, **named)
        settings = api_settings()
        self._most_bytes, self._most_s = settings.max_head_bytes, settings.head_timeout_s
        self._waiting: asyncio.TimerHandle | None = None
        self._read = 0
        self._is_too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first head."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; an end that does not come is not waited for without end."""
        super().data_received(data)
        if self._waiting is None or self.transport.is_closing():
            return
        self._read += len(data)
        if self._read > self._most_bytes:
            self._refuse()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._read = 0
        if self._waiting is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """A head is whole.

        Raises:
            ValueError: It is too large; the parser reads no further.
        """
        self._stop_waiting()
        size = len(self.url) + sum(len(name) + len(value) + _PER_HEADER for name, value in self.headers)
        if size > self._most_bytes:
            self._is_too_large = True
            raise ValueError
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, and say so where it was the size."""
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
