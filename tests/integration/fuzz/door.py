"""The way in: every request is sent, timed and judged here, and its answer counted."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from api.http.errors import HTTP_CODES, STATUS_OF_CODE
from tests.integration.fuzz.host import Got, Host, Sent

KNOWN_TYPES = {*STATUS_OF_CODE, *HTTP_CODES.values()}
PAGES = ("/metrics", "/docs")
"""What is not answered in JSON."""

PROBLEM = "application/problem+json"
MOST_S = 40.0
"""No answer takes longer, on a machine that does other things as well."""

_SHOWN_CHARS = 3_000


@dataclass(frozen=True)
class Fault:
    """Something that must not happen, and the request that made it happen."""

    what: str
    request: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.what}\n  request: {self.request[:_SHOWN_CHARS]}\n  {self.detail[-_SHOWN_CHARS:]}"


@dataclass(frozen=True)
class Answer:
    """What a request was answered."""

    status: int
    body: Any
    request: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def kind(self) -> str:
        """The type of a refusal; empty for none."""
        return str(self.body.get("type", "")) if self.status >= 400 and isinstance(self.body, dict) else ""


@dataclass(frozen=True)
class Request:
    """What is asked.

    Attributes:
        operation: What it is counted under.
        method: Such as GET.
        path: Written for an address.
        raw: The body.
        query: Written for an address.
        headers: Instead of those that every request has, or beside them; None for one less.
        pieces: How many the body comes in.
        hangs_up: Whether nobody waits for the answer, and the body has no end.
    """

    operation: str
    method: str
    path: str
    raw: bytes = b""
    query: str = ""
    headers: Mapping[str, str | None] = field(default_factory=dict)
    pieces: int = 1
    hangs_up: bool = False

    def __str__(self) -> str:
        odd = {"headers": dict(self.headers), "pieces": self.pieces, "hangs_up": self.hangs_up}
        return f"{self.method} {self.target} {odd} {self.raw[:_SHOWN_CHARS]!r}"

    @property
    def target(self) -> str:
        return self.path + (f"?{self.query}" if self.query else "")

    def sent(self, key: str) -> Sent:
        """Write it for the wire, with a key where it names none."""
        usual = {"host": "testserver", "authorization": f"Bearer {key}", "content-type": "application/json"}
        length = {} if self.hangs_up or self.pieces > 1 else {"content-length": str(len(self.raw))}
        named = {**usual, **length, **{name.lower(): value for name, value in self.headers.items()}}
        headers = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in named.items()
            if value is not None
        ]
        size = max(-(-len(self.raw) // self.pieces), 1)
        pieces = [self.raw[at : at + size] for at in range(0, len(self.raw), size)]
        return Sent(self.method, self.target, headers, pieces, hangs_up=self.hangs_up)


@dataclass
class Door:
    """Sends requests and keeps what was wrong with their answers.

    Attributes:
        host: Who runs the application.
        key: What a request is signed with that names no other key.
        counts: Answers by operation, status and type.
        faults: What must not happen.
        slowest: The longest answer of each operation: the seconds, and the request.
    """

    host: Host
    key: str
    counts: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        """How many were sent."""
        return sum(self.counts.values())

    def send(
        self,
        operation: str,
        method: str,
        path: str,
        raw: bytes = b"",
        *,
        query: str = "",
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """Send a request; whatever is wrong with the answer is kept."""
        return self.send_all([Request(operation, method, path, raw, query, headers or {})])[0]

    def send_all(self, requests: Sequence[Request]) -> list[Answer]:
        """Send requests at the same time; whatever is wrong with their answers is kept."""
        started = time.monotonic()
        found = self.host.answer(*(request.sent(self.key) for request in requests))
        spent_s = time.monotonic() - started
        return [self._taken(request, got, spent_s) for request, got in zip(requests, found, strict=True)]

    def _taken(self, request: Request, got: Got, spent_s: float) -> Answer:
        body, is_json = _read(got.content)
        answer = Answer(got.status, body, str(request))
        operation = request.operation
        self._judge(request, answer, got, is_json=is_json)
        self.counts[operation, answer.status, answer.kind] += 1
        self.slowest[operation] = max((spent_s, answer.request), self.slowest.get(operation, (0.0, "")))
        if spent_s > MOST_S:
            self.blame(f"{operation}: took {spent_s:.1f} s", answer)
        return answer

    def _judge(self, request: Request, answer: Answer, got: Got, *, is_json: bool) -> None:
        operation = request.operation
        if answer.status >= 500:
            seen = self.host.seen.pop() if self.host.seen else json.dumps(answer.body)
            self.faults.append(Fault(f"{operation}: {answer.status}", answer.request, seen))
        elif self.host.seen:  # such as by what is done after the answer
            what = f"{operation}: {answer.status}, and then a fault"
            self.faults.append(Fault(what, answer.request, self.host.seen.pop()))
        elif not got.is_whole:
            self.blame(f"{operation}: {answer.status} without an end", answer)
        elif request.method == "HEAD":
            return
        elif answer.status >= 400:
            known = answer.kind in KNOWN_TYPES and answer.body.get("status") == answer.status
            is_problem = known and got.content_type == PROBLEM and answer.body.get("detail")
            if not (is_problem or _is_rpc(request, answer)):
                self.blame(f"{operation}: {answer.status} is no known problem", answer)
        elif not (is_json or answer.status in (202, 304, 307) or request.path in PAGES):
            self.blame(f"{operation}: {answer.status} without JSON", answer)

    def blame(self, what: str, answer: Answer) -> None:
        """Keep what is wrong with an answer."""
        self.faults.append(Fault(what, answer.request, json.dumps(answer.body)[:_SHOWN_CHARS]))


def _is_rpc(request: Request, answer: Answer) -> bool:
    """Whether a refusal is one of the Model Context Protocol, which has forms of its own."""
    if answer.body is None:
        return request.path == "/mcp"
    return isinstance(answer.body, dict) and "jsonrpc" in answer.body and "error" in answer.body


def _read(content: bytes) -> tuple[Any, bool]:
    try:
        return json.loads(content), True
    except ValueError:
        return None, False


def segment(text: str) -> str:
    """Write an id as one segment of a path, whatever is in it."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def encode(value: Any) -> bytes:
    """Write JSON in ASCII: half a surrogate pair is a valid escape there."""
    return json.dumps(value).encode()
