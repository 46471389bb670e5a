"""Next step of the scripted model: a queue of steps, a model's suffix, or the default."""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MODEL_PREFIX = "scripted-"
"""`openai/scripted-429` answers 429 whenever the queue of steps is empty."""


class Mode(StrEnum):
    """A way to answer."""

    OK = "ok"
    SUMMARY = "summary"
    RATE_LIMITED = "429"
    OUT_OF_QUOTA_429 = "429-quota"
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    HANG = "hang"
    DRIP = "drip"
    DRIP_HEADERS = "drip-headers"
    RESET = "reset"
    TRUNCATED_JSON = "truncated-json"
    NO_CHOICES = "no-choices"
    EMPTY = "empty"
    EMPTY_OVER = "empty-over"
    CUT_OFF = "cut-off"
    REASONED_AWAY = "reasoned-away"
    FENCED = "fenced"
    THINK = "think"
    THINK_UNCLOSED = "think-unclosed"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content-filter"
    WRONG_LANGUAGE = "wrong-language"
    ERROR_TEXT = "error-text"
    TOOL_CALL_TEXT = "tool-call-text"
    TOOL_CALL = "tool-call"
    CONTEXT_LENGTH = "context-length"
    BAD_KEY = "401"
    FORBIDDEN = "403"
    MISSING_MODEL = "404"
    BAD_REQUEST = "400"
    OUT_OF_QUOTA = "402"


@dataclass(frozen=True)
class Step:
    """An answer of the scripted model.

    Attributes:
        mode: Way to answer.
        text: Words of the answer, for a mode with words; None lets the mode choose.
        delay_s: Wait before the answer, in seconds, >= 0.
        retry_after_s: The Retry-After of a 429 or 503; None sends no header.
        drip_s: Duration of a dripping answer, in seconds, >= 0.
        times: Number of requests served by the step, >= 1.
        cached_tokens: Prompt tokens reported as read from a cache.
        reasoning_tokens: Output tokens reported as reasoning.
        over_bytes: Longest prompt with an answer in mode `empty-over`, in UTF-8 bytes, >= 0.
    """

    mode: Mode = Mode.OK
    text: str | None = None
    delay_s: float = 0
    retry_after_s: float | None = 3
    drip_s: float = 30
    times: int = 1
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    over_bytes: int = 16_000


class Script:
    """Chooses the step of each request; safe to use from many threads."""

    def __init__(self, default: Step | None = None) -> None:
        """Start with an empty queue. The default step summarizes."""
        self._lock = threading.Lock()
        self._queue: deque[Step] = deque()
        self._default = default or Step(Mode.SUMMARY)

    def add(self, steps: Iterable[Step]) -> None:
        """Queue steps for the next requests, for any model."""
        with self._lock:
            for step in steps:
                self._queue.extend([step] * step.times)

    def set_default(self, step: Step) -> None:
        """Set the step used when the queue is empty and the model's name asks for nothing."""
        with self._lock:
            self._default = step

    def clear(self) -> None:
        """Forget the queued steps."""
        with self._lock:
            self._queue.clear()

    def next_step(self, model: str) -> Step:
        """Take the queue's next step, else the step asked for by the model's name, else the default."""
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            return _step_of(model) or self._default


def _step_of(model: str) -> Step | None:
    _, found, suffix = model.rpartition(MODEL_PREFIX)
    if not found:
        return None
    try:
        return Step(Mode(suffix))
    except ValueError:
        return None
