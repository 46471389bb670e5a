"""Small typed client of the HTTP API, with retries of lost calls and never of refused calls."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from context.types import JsonObject

TIMEOUT_S = 30.0
RETRY_DELAYS_S = (0.1, 0.3, 1.0, 2.0, 4.0)
UNAVAILABLE = frozenset({429, 502, 503, 504})
"""Statuses of a call without any effect; the call may be repeated."""
MOST_WAIT_S = 30.0
"""Longest delay accepted from a Retry-After header, in seconds."""

_TOTAL = re.compile(r"\btotal;[^,]*\bdur=([0-9.]+)")


class ApiError(Exception):
    """The API refused a call; a repeat would not help.

    Attributes:
        status: The HTTP status.
        code: The stable slug of the problem.
        detail: The fault, in a sentence.
        problem: The whole problem document.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        """Read a problem document."""
        self.status = status
        self.code = str(problem.get("type", "unknown"))
        self.detail = str(problem.get("detail") or problem.get("title") or f"status {status}")
        self.problem = problem
        super().__init__(f"{self.detail} ({status} {self.code})")


class UnreachableError(Exception):
    """No answer after several attempts."""


@dataclass(frozen=True)
class RecordedTurn:
    """A durably stored turn.

    Attributes:
        turn_id: The turn's id.
        first_seq: Place of its first message in the log.
        last_seq: Place of its last message.
        duplicate: True if stored before; the call changed nothing.
        notes: The API's remarks, such as a call without a result; a line each.
    """

    turn_id: str
    first_seq: int
    last_seq: int
    duplicate: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class WindowAnswer:
    """The answer to a context request.

    Attributes:
        answer: The answer as received.
        server_ms: Time spent by the server, in milliseconds; None if unknown.
    """

    answer: JsonObject
    server_ms: float | None

    @property
    def messages(self) -> list[JsonObject]:
        """Messages for the model."""
        return list(self.answer["messages"])

    @property
    def certificate(self) -> JsonObject:
        """Certificate of the window: contents and reasons."""
        return dict(self.answer["certificate"])

    @property
    def freshness(self) -> JsonObject:
        """Progress of the background work."""
        return dict(self.answer["freshness"])


class Client:
    """Client of an API with a single key; close the client, or use it as a context manager."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.BaseTransport | None = None,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        """Prepare connections; nothing is sent yet.

        Args:
            base_url: The API's address, without `/v1`.
            api_key: The tenant's key.
            timeout_s: Longest time of an attempt, > 0.
            transport: Another way to reach the API.
            wait: Waits for a number of seconds between two attempts.
        """
        self._wait = wait
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout_s,
            transport=transport,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._http.close()

    def record_turn(self, session_id: str, event: JsonObject) -> RecordedTurn:
        """Store a finished turn; repeated with the same `turn_id` until confirmed.

        Args:
            session_id: The conversation.
            event: The event's body.

        Raises:
            ApiError: The turn is refused.
            UnreachableError: The API does not answer.
        """
        return _recorded(self._call("POST", f"{_path(session_id)}/turns", _json(event)).json())

    def record_turns(self, events: Iterable[tuple[str, JsonObject]]) -> list[RecordedTurn | ApiError]:
        """Store many turns in a single call; a refused line does not stop the others.

        Args:
            events: Session ids and bodies of events.

        Returns:
            The result of each turn, in order.

        Raises:
            ApiError: The whole call is refused.
            UnreachableError: The API does not answer.
        """
        lines = [_json({"session_id": session_id, **event}) for session_id, event in events]
        response = self._call("POST", "/v1/turns", b"\n".join(lines), "application/x-ndjson")
        return [_line(item) for item in response.json()["results"]]

    def context(self, session_id: str, request: JsonObject) -> WindowAnswer:
        """Request the window of the next model request.

        Args:
            session_id: The conversation.
            request: Model, limits, system prompt, the new messages.

        Raises:
            ApiError: The request is refused, for example because the fixed part alone is over budget.
            UnreachableError: The API does not answer.
        """
        response = self._call("POST", f"{_path(session_id)}/context", _json(request))
        found = _TOTAL.search(response.headers.get("server-timing", ""))
        return WindowAnswer(response.json(), float(found[1]) if found else None)

    def probe(self, session_id: str, request: JsonObject) -> JsonObject:
        """List the facts held by a session's window with and without its parts; errors as in `context`."""
        return dict(self._call("POST", f"{_path(session_id)}/shadow", _json(request)).json())

    def session(self, session_id: str) -> JsonObject:
        """Read a session's state and freshness; errors as in `context`."""
        return dict(self._call("GET", _path(session_id)).json())

    def summaries(self, session_id: str) -> list[JsonObject]:
        """Read every version of a session's summary; errors as in `context`."""
        return list(self._call("GET", f"{_path(session_id)}/summaries").json()["summaries"])

    def _call(
        self, method: str, path: str, content: bytes | None = None, kind: str = "application/json"
    ) -> httpx.Response:
        """Send until an answer arrives; every call of the client may arrive twice."""
        reason = ""
        for delay_s in (*RETRY_DELAYS_S, None):
            told_s = 0.0
            try:
                response = self._http.request(method, path, content=content, headers={"Content-Type": kind})
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if response.status_code not in UNAVAILABLE:
                    return _checked(response)
                reason, told_s = f"it answers {response.status_code}", _retry_after_s(response)
            if delay_s is not None:
                self._wait(max(delay_s, told_s))
        attempts = len(RETRY_DELAYS_S) + 1
        raise UnreachableError(f"{self._http.base_url} does not serve: {reason} ({attempts} attempts)")


def _path(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}"


def _json(value: JsonObject) -> bytes:
    """Encode in ASCII, so that any content of a file arrives; the API cleans the text on entry."""
    return json.dumps(value, allow_nan=False).encode()


def _retry_after_s(response: httpx.Response) -> float:
    """Read the Retry-After delay, in seconds; 0 if missing."""
    told = response.headers.get("retry-after", "")
    return min(float(told), MOST_WAIT_S) if told.isascii() and told.isdigit() else 0.0


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    try:
        problem = response.json()
    except ValueError:
        problem = {"detail": "the answer is not JSON; is this the API's address?"}
    raise ApiError(response.status_code, problem if isinstance(problem, dict) else {})


def _recorded(item: Mapping[str, Any]) -> RecordedTurn:
    return RecordedTurn(
        turn_id=item["turn_id"],
        first_seq=item["first_seq"],
        last_seq=item["last_seq"],
        duplicate=item["duplicate"],
        notes=tuple(str(note) for note in item.get("notes") or ()),
    )


def _line(item: Mapping[str, Any]) -> RecordedTurn | ApiError:
    problem = item.get("error")
    return ApiError(int(problem.get("status", 400)), problem) if problem else _recorded(item)
