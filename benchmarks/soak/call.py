"""One caller of the API that keeps its connection, and the book in which every call is written."""

import http.client
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 60.0
IDLE_S = 2.0
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Timed:
    """One call.

    Attributes:
        call: Which.
        at_s: When it was due, on the clock of the run.
        late_ms: For how long it waited for its caller.
        took_ms: From sending it to the end of its answer.
    """

    call: str
    at_s: float
    late_ms: float
    took_ms: float


@dataclass
class Book:
    """What all callers saw; safe to write from many threads.

    Attributes:
        calls: Every call.
        statuses: How often each call was answered how.
        faults: What must not be: a line each.
    """

    calls: list[Timed] = field(default_factory=list)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, timed: Timed, status: int, fault: str | None) -> None:
        """Note a call and how it was answered."""
        with self._lock:
            self.calls.append(timed)
            self.statuses[timed.call, status] += 1
            if fault:
                self.faults.append(fault)

    def blame(self, fault: str) -> None:
        """Note what must not be."""
        with self._lock:
            self.faults.append(fault)


@dataclass(frozen=True)
class Answer:
    """What came back; status 0 where nothing did."""

    status: int
    body: Any

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300


class Caller:
    """Calls with one key over one connection."""

    def __init__(self, base_url: str, api_key: str, book: Book, began: float) -> None:
        """Connect at the first call.

        Args:
            base_url: Where the API is.
            api_key: Whose calls they are.
            book: Where they are written.
            began: The start of the run, of `time.monotonic`.
        """
        place = urlsplit(base_url)
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_S)
        self._headers = {"Authorization": f"Bearer {api_key}", **JSON}
        self._book, self._began = book, began
        self.due = self._used = began

    def send(
        self,
        call: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        expect: tuple[int, ...] = (200,),
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a body, bytes as they are and anything else as JSON, and write down what comes of it.

        Args:
            call: Its name in the book.
            method: The method.
            path: The path.
            body: What is sent; None sends nothing.
            expect: The statuses that are right.
            headers: More of them.
        """
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._hang_up_if_stale()
        began = time.monotonic()
        try:
            self._connection.request(method, path, raw, {**self._headers, **(headers or {})})
            got = self._connection.getresponse()
            status, content = got.status, got.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            status, content = 0, type(error).__name__.encode()
        ended = time.monotonic()
        timed = Timed(
            call,
            self.due - self._began,
            max(began - self.due, 0) * 1000,
            (ended - began) * 1000,
        )
        fault = None if status in expect else f"{call}: {method} {path} answered {status}: {content[:300]!r}"
        self._book.write(timed, status, fault)
        # What is sent next within the same step is due when this one is answered.
        self.due = self._used = ended
        return Answer(status, _decoded(content))

    def _hang_up_if_stale(self) -> None:
        """A connection that was idle may be closed at the other end; any client's pool looks before use."""
        if time.monotonic() - self._used > IDLE_S:
            self._connection.close()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
