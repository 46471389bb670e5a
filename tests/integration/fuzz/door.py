"""The way in: every request is sent, timed and judged here, and its answer counted."""

import json
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import quote, unquote

from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import HTTP_CODES, STATUS_OF_CODE

KNOWN_TYPES = {*STATUS_OF_CODE, *HTTP_CODES.values()}
PROBLEM = "application/problem+json"
MOST_S = 20.0
"""No answer takes longer, on a machine that does other things as well."""

_SHOWN_CHARS = 3_000


class Witness:
    """Sees the exceptions that an application answers with a 500; knows its OpenAPI document."""

    def __init__(self, app: ASGIApp, document: dict[str, Any]) -> None:
        self.app = app
        self.document = document
        self.seen: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "raw_path" in scope:  # the test client decodes a path twice, a server does it once
            scope["path"] = unquote(scope["raw_path"].partition(b"?")[0].decode("ascii"))
        try:
            await self.app(scope, receive, send)
        except Exception:
            self.seen.append(traceback.format_exc())
            raise


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
        return self.status < 300

    @property
    def kind(self) -> str:
        """The type of a refusal; empty for none."""
        return str(self.body.get("type", "")) if self.status >= 400 and isinstance(self.body, dict) else ""


@dataclass
class Door:
    """Sends requests and keeps what was wrong with their answers.

    Attributes:
        client: Who sends them.
        witness: Who sees the exceptions.
        counts: Answers by operation, status and type.
        faults: What must not happen.
        slowest: The longest answer of each operation, in seconds.
    """

    client: TestClient
    witness: Witness
    counts: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

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
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; whatever is wrong with the answer is kept."""
        url = path + (f"?{query}" if query else "")
        shown = f"{method} {url} {dict(headers or {})} {raw[:_SHOWN_CHARS]!r}"
        named = {"content-type": "application/json", **(headers or {})}
        sent = {key.encode(): value.encode("latin-1") for key, value in named.items()}
        started = time.monotonic()
        got = self.client.request(method, url, content=raw, headers=sent)
        spent_s = time.monotonic() - started
        body, is_json = _read(got.content)
        answer = Answer(got.status_code, body, shown)
        self._judge(operation, answer, got.headers.get("content-type", ""), is_json=is_json)
        with self._lock:
            self.counts[operation, answer.status, answer.kind] += 1
            self.slowest[operation] = max(spent_s, self.slowest.get(operation, 0.0))
        if spent_s > MOST_S:
            self.blame(f"{operation}: took {spent_s:.1f} s", answer)
        return answer

    def _judge(self, operation: str, answer: Answer, content_type: str, *, is_json: bool) -> None:
        if answer.status >= 500:
            seen = self.witness.seen.pop() if self.witness.seen else json.dumps(answer.body)
            self.faults.append(Fault(f"{operation}: {answer.status}", answer.request, seen))
        elif answer.status >= 400 and not _is_rpc(answer.body):
            known = answer.kind in KNOWN_TYPES and answer.body.get("status") == answer.status
            if not known or content_type != PROBLEM or not answer.body.get("detail"):
                self.blame(f"{operation}: {answer.status} is no known problem", answer)
        elif not is_json and answer.status not in (202, 304):
            self.blame(f"{operation}: {answer.status} without JSON", answer)

    def blame(self, what: str, answer: Answer) -> None:
        """Keep what is wrong with an answer."""
        self.faults.append(Fault(what, answer.request, json.dumps(answer.body)[:_SHOWN_CHARS]))


def _is_rpc(body: Any) -> bool:
    """Whether a refusal is one of the Model Context Protocol, which has its own form."""
    return isinstance(body, dict) and "jsonrpc" in body and "error" in body


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
