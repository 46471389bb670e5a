"""Typed failures of model calls, with the action for a worker."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus

from context.errors import AfterturnError
from context.providers.errors import ErrorKind, classify
from llm.scrub import MAX_DETAIL_CHARS, scrub

MAX_RETRY_AFTER_S = 3600.0


class FailureKind(StrEnum):
    """Action for the caller after a failure."""

    RETRY_AFTER = "retry-after"
    RETRY_BACKOFF = "retry-backoff"
    SHRINK_INPUT = "shrink-input"
    PERMANENT = "permanent"
    QUOTA = "quota"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    REFUSED = "refused"


class Cause(StrEnum):
    """Cause of a failure, more exact than the kind."""

    RATE_LIMIT = "rate-limit"
    SERVER = "server"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    CONTEXT_LENGTH = "context-length"
    AUTH = "auth"
    MISSING_MODEL = "missing-model"
    INVALID_REQUEST = "invalid-request"
    BILLING = "billing"
    NO_CHOICES = "no-choices"
    NO_CONTENT = "no-content"
    OUTPUT_CAP = "output-cap"
    TOO_LONG = "too-long"
    BAD_RESPONSE = "bad-response"
    CONTENT_FILTER = "content-filter"
    INTERRUPTED = "interrupted"


_KINDS: dict[Cause, FailureKind] = {
    Cause.RATE_LIMIT: FailureKind.RETRY_AFTER,
    Cause.SERVER: FailureKind.RETRY_BACKOFF,
    Cause.CONNECTION: FailureKind.RETRY_BACKOFF,
    Cause.TIMEOUT: FailureKind.RETRY_BACKOFF,
    Cause.CONTEXT_LENGTH: FailureKind.SHRINK_INPUT,
    Cause.AUTH: FailureKind.PERMANENT,
    Cause.MISSING_MODEL: FailureKind.PERMANENT,
    Cause.INVALID_REQUEST: FailureKind.PERMANENT,
    Cause.BILLING: FailureKind.QUOTA,
    Cause.NO_CHOICES: FailureKind.EMPTY,
    Cause.NO_CONTENT: FailureKind.EMPTY,
    Cause.OUTPUT_CAP: FailureKind.TRUNCATED,
    Cause.TOO_LONG: FailureKind.TRUNCATED,
    Cause.BAD_RESPONSE: FailureKind.MALFORMED,
    Cause.CONTENT_FILTER: FailureKind.REFUSED,
    Cause.INTERRUPTED: FailureKind.RETRY_BACKOFF,
}
_WAITING_HELPS = frozenset({FailureKind.RETRY_AFTER, FailureKind.RETRY_BACKOFF})
_PARKING = frozenset({Cause.AUTH, Cause.MISSING_MODEL, Cause.BILLING})
_TRANSIENT = frozenset({Cause.RATE_LIMIT, Cause.SERVER, Cause.CONNECTION, Cause.TIMEOUT, Cause.BAD_RESPONSE})
UNANSWERED = frozenset(
    {
        *(Cause.RATE_LIMIT, Cause.SERVER, Cause.CONNECTION, Cause.CONTEXT_LENGTH, Cause.AUTH),
        *(Cause.MISSING_MODEL, Cause.INVALID_REQUEST, Cause.BILLING, Cause.INTERRUPTED),
    }
)
"""Failures that say nothing of the time that an answer takes."""
_MAYBE_BILLED = frozenset({Cause.TIMEOUT, Cause.BAD_RESPONSE, Cause.INTERRUPTED, Cause.TOO_LONG})

MOST_ERROR_CHARS = 20_000
"""Maximum characters read of an error; some errors quote the whole prompt, or the whole answer."""


class LlmFailure(AfterturnError):  # noqa: N818 - a failure of the model, not an error of ours
    """A model did not give a usable answer.

    Attributes:
        kind: Action for the caller.
        cause: Cause of the failure.
        retry_after_s: Pause requested by the provider, in seconds; None without a request.
        status: The HTTP status; None without a status.
        limit_tokens: The model's real window, as named by an overflow; None when not named.
        detail: The provider's words without keys and without the prompt, at most 300 characters.
        model: The model called last, possibly a fallback; None when unknown.
        words: Text of an unusable answer, to be stored sealed and shown nowhere else.
    """

    code = "llm-failure"

    def __init__(
        self,
        cause: Cause,
        detail: str = "",
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        limit_tokens: int | None = None,
    ) -> None:
        """Derive the kind from the cause, so that both agree."""
        self.cause = cause
        self.kind = _KINDS[cause]
        self.status = status
        self.retry_after_s = retry_after_s
        self.limit_tokens = limit_tokens
        self.detail = detail[:MAX_DETAIL_CHARS]
        self.model: str | None = None
        self.words = ""
        super().__init__(
            f"{self.reason}: {self.detail}" if detail else self.reason,
            status=status,
            retry_after_s=retry_after_s,
        )

    @property
    def reason(self) -> str:
        """Kind and cause in our own words alone, readable by all tenants."""
        return f"{self.kind} ({self.cause})"

    @property
    def retryable(self) -> bool:
        """True when waiting alone is likely to help, after any number of failures.

        An empty, cut or broken answer may also be better next time, but each try is paid: such answers are
        worth a bounded number of attempts only.
        """
        return self.kind in _WAITING_HELPS

    @property
    def parks(self) -> bool:
        """True when nobody can use the model until an operator acts."""
        return self.cause in _PARKING

    @property
    def transient(self) -> bool:
        """True when the failure points to trouble at the provider rather than to the question."""
        return self.cause in _TRANSIENT

    @property
    def may_be_billed(self) -> bool:
        """True when the provider may have done the work all the same."""
        return self.cause in _MAYBE_BILLED


_NO_PROVIDER = re.compile(r"LLM Provider NOT provided", re.IGNORECASE)
_NO_KEY = re.compile(
    r"missing [\w ]{0,30}(credentials|api[ _]key)|api_key client option must be set", re.IGNORECASE
)
_BY_CLASS = {
    "Timeout": Cause.TIMEOUT,
    "APITimeoutError": Cause.TIMEOUT,
    "ReadTimeout": Cause.TIMEOUT,
    "UnicodeError": Cause.INVALID_REQUEST,
}
_BY_CLASS_IN_DOUBT = {
    "ContextWindowExceededError": Cause.CONTEXT_LENGTH,
    "ContentPolicyViolationError": Cause.CONTENT_FILTER,
    "AuthenticationError": Cause.AUTH,
    "NotFoundError": Cause.MISSING_MODEL,
}
_BY_MEANING = {
    ErrorKind.CONTEXT_OVERFLOW: Cause.CONTEXT_LENGTH,
    ErrorKind.SIGNATURE: Cause.INVALID_REQUEST,
    ErrorKind.RATE_LIMIT: Cause.RATE_LIMIT,
    ErrorKind.QUOTA: Cause.BILLING,
    ErrorKind.AUTH: Cause.AUTH,
    ErrorKind.MODEL_NOT_FOUND: Cause.MISSING_MODEL,
    ErrorKind.CONTENT_FILTER: Cause.CONTENT_FILTER,
    ErrorKind.INVALID_REQUEST: Cause.INVALID_REQUEST,
    ErrorKind.OVERLOADED: Cause.SERVER,
    ErrorKind.TIMEOUT: Cause.TIMEOUT,
    ErrorKind.UNKNOWN: Cause.CONNECTION,
}
_IN_DOUBT = (ErrorKind.UNKNOWN, ErrorKind.INVALID_REQUEST)


def failure_of(error: BaseException, *, status_on_wire: int | None, secrets: Iterable[str]) -> LlmFailure:
    """Turn any exception of litellm into a typed failure.

    Args:
        error: The exception; the class names follow litellm 1.110.
        status_on_wire: The HTTP status that really arrived; None without an observed status. The status tells
            a broken answer and a broken connection from the 500 that litellm makes of both.
        secrets: Texts to keep out of the detail: the prompt, the key.

    Returns:
        The failure; no exception is raised.
    """
    text = str(error)[:MOST_ERROR_CHARS]
    status = status_on_wire or _status_of(error)
    body = getattr(error, "body", None)
    meaning = classify(status, body if isinstance(body, dict) else text)
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    waits = parse_retry_after(headers, now=datetime.now(UTC))
    cause = _cause_of(error, text, meaning.kind, status_on_wire)
    said = "" if cause is Cause.BAD_RESPONSE else f": {text}"  # that text may hold the answer
    return LlmFailure(
        cause,
        scrub(f"{type(error).__name__}{said}", secrets),
        status=status,
        retry_after_s=meaning.retry_after_s if waits is None else waits,
        limit_tokens=meaning.limit_tokens,
    )


def _status_of(error: BaseException) -> int | None:
    """Return the status named by litellm, except 500: litellm uses 500 for anything broken on the way."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status != HTTPStatus.INTERNAL_SERVER_ERROR else None


def _cause_of(error: BaseException, text: str, meaning: ErrorKind, on_wire: int | None) -> Cause:
    names = {kind.__name__ for kind in type(error).__mro__}
    certain = next((cause for name, cause in _BY_CLASS.items() if name in names), None)
    if certain is not None:
        return certain
    if on_wire is not None and on_wire < HTTPStatus.BAD_REQUEST:
        return Cause.BAD_RESPONSE
    if on_wire is None and _NO_PROVIDER.search(text):
        return Cause.MISSING_MODEL
    if on_wire is None and _NO_KEY.search(text):
        return Cause.AUTH
    likely = next((cause for name, cause in _BY_CLASS_IN_DOUBT.items() if name in names), None)
    return likely if likely and meaning in _IN_DOUBT else _BY_MEANING[meaning]


def parse_retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Read the pause requested by a provider, in seconds, in [0, 3600]; returns None without a request."""
    in_ms, value = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if in_ms is not None:
            seconds = float(in_ms) / 1000
        elif value is not None:
            seconds = float(value) if _is_number(value) else _seconds_until(value, now)
        else:
            return None
    except ValueError:
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S) if seconds == seconds else None  # noqa: PLR0124 - NaN


def _is_number(value: str) -> bool:
    return re.fullmatch(r"\s*\d+(\.\d+)?\s*", value) is not None


def _seconds_until(http_date: str, now: datetime) -> float:
    at = parsedate_to_datetime(http_date)
    return (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
