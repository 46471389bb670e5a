"""A door before the API: a real proxy that tests open, close, slow down and make forget."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import httpx

_HOP = {"transfer-encoding", "connection", "content-length", "keep-alive"}


class Way(Enum):
    """What becomes of a call."""

    OPEN = "it is passed on"
    SHUT = "the connection ends without an answer"
    SILENT = "nobody answers"
    BUSY = "503, with a wish to wait"
    BROKEN = "500 without a body"
    LOSES_ANSWERS = "it is passed on, and the answer is lost"
    MISSPEAKS = "the version of the answer is another"
    STRANGER = "the answer names no version"


class Door:
    """Passes calls on to an API; counts them by method and last part of the path."""

    def __init__(self, target: str) -> None:
        self.way, self.retry_after_s, self.version = Way.OPEN, 0, "2.0"
        self.calls = Counter[str]()
        self._target = httpx.Client(base_url=target, timeout=120)
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.door = self
        self._opened = threading.Event()
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @contextmanager
    def set(self, way: Way) -> Iterator[None]:
        """Treat calls in this way within the block."""
        self.way = way
        self._opened.clear()
        try:
            yield
        finally:
            self.way = Way.OPEN
            self._opened.set()

    def wait_until_opened(self) -> None:
        self._opened.wait(120)

    def pass_on(self, method: str, path: str, headers: dict[str, str], content: bytes) -> httpx.Response:
        return self._target.request(method, path, headers=headers, content=content)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        self._target.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    door: Door

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Print nothing."""

    def _pass(self) -> None:
        door = self.server.door
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        way = door.way
        door.calls[f"{self.command} {self.path.partition('?')[0].rpartition('/')[2]}"] += 1
        if way is Way.SILENT:
            door.wait_until_opened()
        if way in (Way.SILENT, Way.SHUT):
            self.close_connection = True
            return
        if way in (Way.BUSY, Way.BROKEN):
            self.send_response(503 if way is Way.BUSY else 500)
            if way is Way.BUSY:
                self.send_header("retry-after", str(door.retry_after_s))
            self.send_header("content-length", "0")
            self.end_headers()
            return
        named = {name: value for name, value in self.headers.items() if name.lower() not in {"host", *_HOP}}
        answer = door.pass_on(self.command, self.path, named, content)
        if way is Way.LOSES_ANSWERS:
            self.close_connection = True
            return
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name in _HOP or name == "content-encoding":
                continue
            if name == "afterturn-api" and way in (Way.STRANGER, Way.MISSPEAKS):
                continue
            self.send_header(name, value)
        if way is Way.MISSPEAKS:
            self.send_header("afterturn-api", door.version)
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _pass  # noqa: N815 - names of the base class
