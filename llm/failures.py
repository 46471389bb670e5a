"""Typed failures of model calls, with the action for a worker, and a provider's words fit to store."""

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus

from context.errors import AfterturnError
from context.languages import STOP_WORDS
from context.precompute.prompt import ArtifactInput, artifact_messages
from context.providers.errors import ErrorKind, classify
from context.summary.prompt import SummaryInput, summary_messages

_LINES = (
    "about above access account again allowed already and any api are argument array assistant attempt",
    "audio authentication authorized available back bad badrequesterror balance base been before",
    "billing body bytes call can cannot character characters check code completion completions",
    "connection contain contains content context could credit credits data deployment did does down due",
    "each empty end endpoint error errors exceed exceeded exceeds exception exist expected failed field",
    "for format found from function get given got had has have header high host however http image",
    "input insufficient internal internalservererror into invalid its json key large later least length",
    "less like limit limits litellm load long make many match max maximum may message messages model",
    "models more most must name need new none not null number object one only openai openaiexception",
    "organization other our out output overloaded parameter parameters parse please policy prompt",
    "property provided provider quota rate reached read reason received reduce refused request",
    "requested requests required resource response result retry role schema see server service should",
    "size still stop string support supported system temperature text than that the their them then",
    "there this time timeout token tokens too tool tools top try type unable unknown unsupported",
    "upgrade url use used user uses using valid value values was were when which will with would you",
    "your active activate add added admin administrator agree amount anthropic anthropicexception apply",
    "appears appropriate assigned attached attempted authenticationerror azure badly based bedrock being",
    "both browser bytes cache caller calls cause caused check choose city class client close cloud cohere",
    "combined comes configuration configure configured console consider contact containing copy correct",
    "could create created credential credentials current currently dashboard date day days deactivated",
    "deepseek default defined denied deprecated described description details different disabled docs",
    "documentation during either email enable enabled ensure enter environment exactly example exhausted",
    "expired export extra fail fails failure feature fewer file filter find first fix following forbidden",
    "free gateway gemini generate generated generation google greater groq help higher hour hours identity",
    "illegal included including incorrect increase index info information instance instead integer invoke",
    "key keys kind language larger latest learn left level link list loaded location lower made making",
    "malformed manage media memory method middle minute minutes missing mistral mode month moved multiple",
    "names near negative network never next nothing numbers occurred off once online open operation option",
    "optional options order original outside own page paid part pass passed pay payload payment per",
    "permission permissions plan plans platform positive possible previous priority problem process",
    "processed processing production project proper properly providers proxy purchase queue queued range",
    "read ready recent region register remaining remove removed rename replace report reset responded",
    "restricted retrieve retrying return returned review rights run running same scope second seconds",
    "section secret select send sent session set setting settings short shorter single slow small smaller",
    "soon specified specify specifying standard start state status stream structure submitted subscription",
    "such support switch take takes team temporarily temporary text thinking those tier time timed times",
    "together total traffic transient trial tried trying turn types under unauthorized understand",
    "unexpected unsupported until update updated usage user users valid validate validation variable",
    "variables verify version vertex via view vision visit wait website whether while window within without",
    "workload wrong",
)

OF_PROVIDERS = frozenset(word for line in _LINES for word in line.split()) | STOP_WORDS["en"]


MAX_DETAIL_CHARS = 300
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp)[-_][\w*.-]{4,}|\bAIza[\w*-]{6,}"  # the shapes of the common providers
    r"|\b(?:Bearer|Basic)\s+\S+|(?:api[-_ ]?key|token|secret)\s*[=:]\s*\S+"  # said to be a key
    r"|[A-Za-z0-9+/_-]{32,}={0,2}",  # long and without a space: likely one
    re.IGNORECASE,
)
_ANSWER = re.compile(r"[\"'\\]*failed_generation[\"'\\]*\s*[:=].*", re.DOTALL)
"""A provider's quotation of a model's unusable words."""

_SHORTEST_KEY = 6
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})+")
_SPACE = re.compile(r"\s+")
_SHINGLE = 12
"""Length of a run of characters, also in the prompt, taken for a quotation."""

_LONG = 40
"""Length from which a quotation is hidden even with only providers' common words."""

_WORD = re.compile(r"[^\W_]{3,}")
_NAME = re.compile(r"\w*_\w*")
"""A name in code is a single word: `admin_api_key` says nothing of an admin in the prompt."""


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Shorten an error text to a line without keys and without words of the prompt.

    Args:
        text: Words of the provider or litellm.
        secrets: The prompt's texts and the key.

    Returns:
        At most 300 characters. A provider's own sentence survives, a quotation of the prompt does not.
    """
    text = _ANSWER.sub("[answer]", text)
    line = _SPACE.sub(" ", _ESCAPES.sub("…", text))[: 2 * MAX_DETAIL_CHARS]
    line = _KEY.sub("[key]", line)
    for key in _environment_keys():
        line = line.replace(key, "[key]")
    texts = [_SPACE.sub(" ", secret) for secret in secrets]
    return _without_words(_without_quotations(line, texts), texts)[:MAX_DETAIL_CHARS]


def _environment_keys() -> list[str]:
    return [
        value
        for name, value in os.environ.items()
        if name.endswith("_API_KEY") and len(value) >= _SHORTEST_KEY
    ]


def _without_words(line: str, texts: list[str]) -> str:
    """Hide single words of the prompt, except words used by every provider."""
    said = {word.casefold() for text in texts for word in _WORD.findall(text)} - _harmless()
    names = {name.casefold() for text in texts for name in _NAME.findall(text)}
    own = [found.span() for found in _NAME.finditer(line) if found[0].casefold() not in names]

    def kept(found: re.Match[str]) -> str:
        word = found[0]
        if any(start <= found.start() and found.end() <= end for start, end in own):
            return word
        unspaced = not word.isascii() and any(word in text for text in texts)  # such as Chinese
        return "[prompt]" if unspaced or word.casefold() in said else word

    return (
        re.sub(r"\[prompt\](?:\s*\[prompt\])+", "[prompt]", _WORD.sub(kept, line)) if said or texts else line
    )


@lru_cache
def _harmless() -> frozenset[str]:
    """Return the words that reveal nothing of a prompt: providers' words and our own instructions'."""
    ours = [*summary_messages(SummaryInput((), 1, "en")), *artifact_messages(ArtifactInput("", "", 1))]
    words = {word.casefold() for message in ours for word in _WORD.findall(str(message["content"]))}
    return OF_PROVIDERS | words


def _without_quotations(line: str, secrets: list[str]) -> str:
    hidden = [False] * len(line)
    for start in range(len(line) - _SHINGLE + 1):
        if any(line[start : start + _SHINGLE] in secret for secret in secrets):
            hidden[start : start + _SHINGLE] = [True] * _SHINGLE
    kept = "".join("\0" if hide else char for char, hide in zip(line, hidden, strict=True))
    return re.sub("\0+", lambda run: _unless_harmless(line, *run.span()), kept)


def _unless_harmless(line: str, start: int, end: int) -> str:
    """Keep a few common providers' words in a row; replace anything else by a mark."""
    words = [word for word in re.finditer(r"[^\W_]+", line) if word.start() < end and start < word.end()]
    tells = any(word[0].casefold() not in _harmless() for word in words)
    return "[prompt]" if tells or not words or end - start >= _LONG else line[start:end]


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
