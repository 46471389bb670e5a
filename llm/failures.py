"""Why a model did not answer, as a type that a worker can act on."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus

from context.errors import AfterturnError
from context.provider_errors import ErrorKind, classify
from llm.scrub import MAX_DETAIL_CHARS, scrub

MAX_RETRY_AFTER_S = 3600.0


class FailureKind(StrEnum):
    """What the caller should do about a failure."""

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
    """What happened, where the kind alone does not say it."""

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
_MAYBE_BILLED = frozenset({Cause.TIMEOUT, Cause.BAD_RESPONSE, Cause.INTERRUPTED, Cause.TOO_LONG})

MOST_ERROR_CHARS = 20_000
"""So much of an error is read; some quote the whole prompt, or the whole answer."""


class LlmFailure(AfterturnError):  # noqa: N818 - a failure of the model, not an error of ours
    """A model did not give a usable answer.

    Attributes:
        kind: What to do about it.
        cause: What happened.
        retry_after_s: How long the provider asked us to wait; None when it did not.
        status: The HTTP status; None when there was none.
        limit_tokens: The model's real window, where an overflow names it; None when it does not.
        detail: The provider's words without keys and without the prompt, at most 300 characters.
        model: The model that was asked last, which may be a fallback; None where none is known.
        words: The text of an answer that cannot be used, to be stored sealed and shown nowhere else.
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
        """Derive the kind from the cause: the two cannot disagree."""
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
        """What happened, in our own words alone: all tenants may read it."""
        return f"{self.kind} ({self.cause})"

    @property
    def retryable(self) -> bool:
        """Whether waiting alone is likely to help, however often it failed.

        An empty, cut or broken answer may also be better next time, but each try is paid for:
        those are worth a bounded number of attempts only.
        """
        return self.kind in _WAITING_HELPS

    @property
    def parks(self) -> bool:
        """Whether nobody can use this model until an operator has done something."""
        return self.cause in _PARKING

    @property
    def transient(self) -> bool:
        """Whether it says that the provider is in trouble, rather than this question."""
        return self.cause in _TRANSIENT

    @property
    def may_be_billed(self) -> bool:
        """Whether the provider may have done the work all the same."""
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
    """Turn whatever litellm raised into a typed failure.

    Args:
        error: The exception; its class names follow litellm 1.110.
        status_on_wire: The HTTP status that really arrived; None when none did or nobody saw it. It
            tells a broken answer and a broken connection from the 500 that litellm makes of both.
        secrets: Texts that must not appear in the detail: the prompt, the key.

    Returns:
        The failure, never an exception of its own.
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
    """The status that litellm names, but for its 500: it says that of whatever broke on the way."""
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
    """Read how long a provider asks us to wait, in seconds, in [0, 3600]; None when it does not say."""
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
