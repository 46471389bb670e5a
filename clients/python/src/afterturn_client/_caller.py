"""Calls: attempts with jitter, problems as errors, and the handshake of versions."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NoReturn, TypeVar

import httpx
from pydantic import BaseModel

from afterturn_client._flow import Fetch, Flow, Pause, Reply
from afterturn_client._version import API_MAJOR, API_MINOR, VERSION
from afterturn_client.errors import IncompatibleError, RateLimitedError, UnavailableError, refusal
from afterturn_client.options import Options

log = logging.getLogger("afterturn_client")

VERSION_HEADER = "afterturn-api"
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_TOO_MANY = 429
_NO_EFFECT = frozenset({408, _TOO_MANY})
_SERVER_FAULT = 500
_REFUSED_FROM = 400
_JSON = "application/json"

Model = TypeVar("Model", bound=BaseModel)


class Repeat(Enum):
    """Calls that may be sent again after a failure."""

    ALWAYS = "a second delivery changes nothing"
    IF_UNSENT = "only where the first delivery surely had no effect"


@dataclass(frozen=True)
class Call:
    """A call of the API.

    Attributes:
        method: The HTTP method.
        path: The path, with the query.
        body: The body as JSON; None without a body, or with `content`.
        content: The encoded body.
        headers: Headers beside those of the client.
        repeat: Whether the call may be sent again.
    """

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeat: Repeat = Repeat.ALWAYS


def encode(body: Mapping[str, Any]) -> bytes:
    """Write JSON in ASCII, so that any text arrives; the service cleans the text at its door."""
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()


class Caller:
    """Makes calls, and remembers whether the service serves.

    Attributes:
        options: Times and limits.
    """

    def __init__(self, options: Options) -> None:
        """Begin as if the service were there."""
        self.options = options
        self._version: str | None = None
        self._failures = 0
        self._rests_until = 0.0

    def call(self, call: Call, *, timeout_s: float | None = None, in_chat: bool = False) -> Flow[Reply]:
        """Send a call until an answer arrives.

        Args:
            call: The call.
            timeout_s: Longest time of all attempts; None for the usual time.
            in_chat: Whether a chat waits: few attempts, and none while the service rests after failures.

        Raises:
            RefusedError: The service refused the call.
            UnavailableError: No attempt was served within the time.
            IncompatibleError: The versions do not fit.
        """
        now = time.monotonic()
        if in_chat and now < self._rests_until:
            raise UnavailableError("a call failed a moment ago", attempts=0, outcome="none")
        try:
            most = self.options.chat_attempts if in_chat else None
            reply = yield from self._attempts(call, now + (timeout_s or self.options.timeout_s), most)
        except UnavailableError as error:
            if in_chat and not error.held:
                self._rest(error)
            raise
        if in_chat:
            self._end_rest()
        if reply.status >= _REFUSED_FROM:
            raise refusal(reply.status, _problem(reply), reply.headers.get("x-request-id"))
        return reply

    def read(self, model: type[Model], call: Call, *, timeout_s: float | None = None) -> Flow[Model]:
        """Make a call and read its answer; errors as in `call`."""
        reply = yield from self.call(call, timeout_s=timeout_s)
        return model.model_validate_json(reply.content)

    def rest_left_s(self) -> float:
        """Return how long the service is left alone after failures, in seconds, >= 0."""
        return max(0.0, self._rests_until - time.monotonic())

    def _attempts(self, call: Call, ends_at: float, most: int | None) -> Flow[Reply]:
        content = call.content if call.body is None else encode(call.body)
        headers = call.headers if content is None else {"content-type": _JSON, **call.headers}
        attempts, held = 0, False
        while True:
            attempts += 1
            left_s = max(ends_at - time.monotonic(), 0.001)
            wish_s: float | None = None
            try:
                reply: Reply = yield Fetch(call.method, call.path, content, headers, left_s)
            except httpx.TransportError as error:
                reason = _failure(error)
                outcome = "none" if isinstance(error, _UNSENT) else "unknown"
                status = 0
                held = held and isinstance(error, httpx.ReadTimeout)  # it waits for the session again
            else:
                status = reply.status
                if status not in _NO_EFFECT and status < _SERVER_FAULT:
                    self._check_version(reply)
                    return reply
                wish_s = _retry_after_s(reply)
                problem = _problem(reply)
                reason = f"status {status} {problem.get('type', '')}".strip()
                known = "none" if status in _NO_EFFECT else "unknown"
                outcome = str(problem.get("outcome", known))
                held = problem.get("held") is True
            may_repeat = call.repeat is Repeat.ALWAYS or outcome == "none"
            delay_s = self._delay_s(attempts, wish_s)
            if not may_repeat or attempts == most or time.monotonic() + delay_s >= ends_at:
                kind = RateLimitedError if status == _TOO_MANY else UnavailableError
                raise kind(reason, attempts=attempts, retry_after_s=wish_s, outcome=outcome, held=held)
            if (yield Pause(delay_s)):
                raise UnavailableError("the client is closed", attempts=attempts, outcome=outcome)

    def _delay_s(self, attempts: int, wish_s: float | None) -> float:
        """Choose a wait by chance, so that many clients do not come back together."""
        most_s = min(self.options.most_delay_s, self.options.first_delay_s * 2 ** min(attempts - 1, 16))
        return (wish_s or 0.0) + random.uniform(most_s / 10, most_s)  # noqa: S311 - no secret

    def _rest(self, error: UnavailableError) -> None:
        if not self._failures:
            log.warning("chats go on without the service meanwhile: %s", error.reason)
        self._failures += 1
        grown_s = min(self.options.most_rest_s, self.options.rest_s * 2 ** min(self._failures - 1, 16))
        rest_s = max(grown_s * random.uniform(0.5, 1), error.retry_after_s or 0.0)  # noqa: S311 - no secret
        self._rests_until = time.monotonic() + rest_s

    def _end_rest(self) -> None:
        if self._failures:
            log.info("the service serves again")
        self._failures, self._rests_until = 0, 0.0

    def _check_version(self, reply: Reply) -> None:
        told = reply.headers.get(VERSION_HEADER)
        if told is not None and told == self._version:
            return
        if told is None and self._version is not None:
            return  # once spoken to, an answer without the header comes from a proxy between
        spoken = f"{API_MAJOR}.{API_MINOR}"
        if told is None:
            raise IncompatibleError(
                f"the address answers {reply.status} without the header {VERSION_HEADER}: give the base "
                f"address of an Afterturn API of version {spoken} or newer, without /v1",
                server=None,
                client=spoken,
            )
        if not _fits(told):
            _refuse_version(told, spoken)
        self._version = told


def _refuse_version(told: str, spoken: str) -> NoReturn:
    older = told.partition(".")[0].isdigit() and int(told.partition(".")[0]) > API_MAJOR
    advice = "install a newer afterturn-client" if older else "upgrade the service"
    raise IncompatibleError(
        f"the service speaks version {told} of the API, and afterturn-client {VERSION} speaks {spoken}: "
        f"{advice}",
        server=told,
        client=spoken,
    )


def _fits(told: str) -> bool:
    major, _, minor = told.partition(".")
    return major == str(API_MAJOR) and minor.isdigit() and int(minor) >= API_MINOR


def _failure(error: httpx.TransportError) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _retry_after_s(reply: Reply) -> float | None:
    told = reply.headers.get("retry-after", "")
    return float(told) if told.isascii() and told.isdigit() else None


def _problem(reply: Reply) -> dict[str, Any]:
    """Read a problem document; a body of another kind has no members."""
    try:
        read = json.loads(reply.content)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
