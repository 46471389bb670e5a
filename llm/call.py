"""A single call through litellm: a thread with a deadline, a span, and a reply or a typed failure."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any

import httpx

from context.text.sanitize import clean_text
from llm.failures import Cause, LlmFailure, failure_of
from llm.litellm_client import WireState, load, use_wire
from llm.requests import CompletionReply, CompletionRequest, Usage
from llm.settings import EXTRACTIVE, LlmSettings
from models.telemetry.tracing import span

PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Names of providers that differ between litellm and the conventions."""

FAMILIES = {"claude": "anthropic", "command": "cohere", "gemini": "gcp.gemini", "mistral": "mistral_ai"}
"""Providers of models without a prefix; every other such model is OpenAI's or speaks its protocol."""


def provider_of(model: str) -> str:
    """Name a model's provider by the conventions: `openai`, `anthropic`, `aws.bedrock` and so on."""
    if model == EXTRACTIVE:
        return "afterturn"
    prefix, slash, _ = model.partition("/")
    if slash:
        return PROVIDERS.get(prefix, prefix)
    return next((name for family, name in FAMILIES.items() if model.startswith(family)), "openai")


def model_at_provider(model: str) -> str:
    """Name a model as its provider does, without the provider: collectors find prices by this name."""
    return model.partition("/")[2] or model


def traced(request: CompletionRequest, ask: Callable[[], CompletionReply]) -> CompletionReply:
    """Make a call inside a span with model, purpose, usage and outcome; the span holds no text."""
    with span(
        f"chat {model_at_provider(request.model)}",
        kind="client",
        gen_ai__operation__name="chat",
        gen_ai__provider__name=provider_of(request.model),
        gen_ai__conversation__id=request.session_id,
        session__id=request.session_id,
        gen_ai__output__type="json" if request.response_format else "text",
        gen_ai__request__model=model_at_provider(request.model),
        gen_ai__request__max_tokens=request.max_output_tokens,
        gen_ai__request__temperature=float(request.temperature),
        afterturn__purpose=request.purpose,
        afterturn__tenant_id=str(request.tenant_id),
    ) as step:
        try:
            reply = ask()
        except LlmFailure as failure:
            step.tell(afterturn__cause=failure.cause)
            raise
        step.tell(
            gen_ai__response__model=reply.answered_by,
            gen_ai__response__finish_reasons=[reply.finish_reason],
            gen_ai__usage__input_tokens=reply.usage.input_tokens,
            gen_ai__usage__cache_read__input_tokens=reply.usage.cached_tokens,
            gen_ai__usage__output_tokens=reply.usage.output_tokens,
            gen_ai__usage__reasoning__output_tokens=reply.usage.reasoning_tokens,
            gen_ai__usage__cost=None if reply.price_usd is None else float(reply.price_usd),
            afterturn__call_id=str(reply.call_id),
        )
    return reply


_NO_KEY = "none"
"""Key for a server without keys: the SDK refuses to send no key."""

_MOST_TOKENS = 2**31 - 1
"""Maximum value of the ledger's columns; far above any model's window."""
_MAX_NAME_CHARS = 200

MOST_CHARS_PER_TOKEN = 16
"""Words take about four characters a token, most scripts fewer: a longer answer is several times too long."""

MOST_BYTES_PER_TOKEN = 64
"""A character takes six bytes as JSON, and a token may appear in words, in thoughts and in a signature."""

LEAST_LIMIT_CHARS, LEAST_LIMIT_BYTES = 2_000, 2**20
"""Room for a frame of words around a short answer; error pages and providers' fields are no answer."""


@dataclass(frozen=True)
class RawReply:
    """A provider's answer, usable or not.

    Attributes:
        text: The words; empty without words.
        failure: Reason of an unusable answer; None for a usable answer.
        finish_reason: The model's finish reason.
        answered_by: The provider's name of the model.
        usage: Tokens as counted by the provider.
        response_usage: The usage as litellm's object, for the price map.
    """

    text: str
    failure: LlmFailure | None
    finish_reason: str
    answered_by: str
    usage: Usage
    response_usage: object


def ask(request: CompletionRequest, settings: LlmSettings, *, deadline_s: float) -> RawReply:
    """Call a model once, without any retry, and wait no longer than the deadline.

    Args:
        request: The question.
        settings: Settings with the model's address.
        deadline_s: Wall-clock seconds until the answer or a failure.

    Raises:
        LlmFailure: There was no answer at all. An unusable answer is returned, since the answer was paid.
    """
    litellm = load()
    most_bytes = LEAST_LIMIT_BYTES + MOST_BYTES_PER_TOKEN * request.max_output_tokens
    wire = WireState(time.monotonic() + deadline_s, settings.llm_connect_timeout_s, most_bytes)

    def work() -> Any:
        use_wire(wire)
        return litellm.completion(**_arguments(litellm, request, settings, wire))

    ended = run_with_deadline(work, deadline_s)
    late = LlmFailure(Cause.TIMEOUT, f"no answer within {deadline_s:g} s")
    if ended is None:
        raise late
    if ended.error is not None and wire.is_full:
        raise LlmFailure(Cause.TOO_LONG, f"more than {most_bytes} bytes", status=wire.status)
    if ended.error is not None:
        failure = failure_of(ended.error, status_on_wire=wire.status, secrets=_secrets(request, settings))
        # The wire ends at the same moment: on a busy machine its error comes before the waiting is over.
        raise late if failure.cause is Cause.TIMEOUT and time.monotonic() >= wire.ends_at else failure
    return read_response(ended.result, request.max_output_tokens)


@dataclass(frozen=True)
class Ended:
    """End of a piece of work: the result, or the raised error."""

    result: Any = None
    error: BaseException | None = None


def run_with_deadline(work: Callable[[], object], deadline_s: float) -> Ended | None:
    """Run work in a separate thread and stop waiting at the deadline.

    litellm's own timeouts count from byte to byte, so a steady drip never ends. The abandoned thread is a
    daemon; the connection ends the thread at the next byte, or when no byte comes.

    Args:
        work: Function to run. Errors are returned, so that no error is taken for an error of the waiting
            thread: a worker's soft time limit is raised there, in the middle of the wait.
        deadline_s: Longest wait, in seconds.

    Returns:
        The end of the work, or None when the deadline passed first.
    """
    box: SimpleQueue[Ended] = SimpleQueue()

    def run() -> None:
        try:
            box.put(Ended(result=work()))
        except BaseException as error:  # noqa: BLE001 - the waiting thread decides about it
            box.put(Ended(error=error))

    threading.Thread(target=run, name="llm-call", daemon=True).start()
    try:
        return box.get(timeout=deadline_s)
    except Empty:
        return None


def _arguments(
    litellm: ModuleType, request: CompletionRequest, settings: LlmSettings, wire: WireState
) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": request.model,
        "messages": [dict(message) for message in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_output_tokens,
        "timeout": httpx.Timeout(settings.llm_deadline_max_s, connect=wire.connect_s),
        "max_retries": 0,
        "num_retries": 0,
        "drop_params": True,
    }
    if request.response_format is not None:
        arguments["response_format"] = request.response_format
    if settings.llm_api_key is not None:
        arguments["api_key"] = settings.llm_api_key.get_secret_value()
    if settings.llm_api_base is not None:
        arguments["api_base"] = settings.llm_api_base
        if not _names_a_provider(litellm, request.model):
            arguments["custom_llm_provider"] = "openai"
        if not _has_key(litellm, request.model, settings):
            arguments["api_key"] = _NO_KEY
    return arguments


def _names_a_provider(litellm: ModuleType, model: str) -> bool:
    try:
        litellm.get_llm_provider(model)
    except Exception:  # noqa: BLE001 - it says no by raising several types
        return False
    return True


def _has_key(litellm: ModuleType, model: str, settings: LlmSettings) -> bool:
    found = litellm.validate_environment(model)
    return settings.llm_api_key is not None or bool(found["keys_in_environment"])


def _secrets(request: CompletionRequest, settings: LlmSettings) -> list[str]:
    key = settings.llm_api_key
    secrets = [text for message in request.messages for text in _texts(message.get("content"))]
    return [*secrets, key.get_secret_value()] if key else secrets


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def read_response(response: Any, max_output_tokens: int) -> RawReply:
    """Read words and usage from litellm's response, and find flaws.

    An answer several times too long is not read at all: judging an answer of 22 MB takes minutes.
    """
    usage = getattr(response, "usage", None)
    choice = response.choices[0] if response.choices else None
    words = (choice.message.content or "") if choice else ""
    most = LEAST_LIMIT_CHARS + MOST_CHARS_PER_TOKEN * max_output_tokens
    text = clean_text(words) if len(words) <= most else ""
    finish = str(choice.finish_reason or "") if choice else ""
    failure = _flaw(text, finish, has_choice=choice is not None)
    if len(words) > most:
        failure = LlmFailure(Cause.TOO_LONG, f"{len(words)} characters, {most} at most are read")
    return RawReply(
        text=text,
        failure=failure,
        finish_reason=finish,
        answered_by=clean_text(str(response.model or ""))[:_MAX_NAME_CHARS],
        usage=_usage(usage),
        response_usage=usage,
    )


def _flaw(text: str, finish: str, *, has_choice: bool) -> LlmFailure | None:
    if not has_choice:
        return LlmFailure(Cause.NO_CHOICES)
    if finish == "content_filter":
        return LlmFailure(Cause.CONTENT_FILTER)
    if not text.strip():
        return LlmFailure(Cause.NO_CONTENT, f"finish_reason: {finish}" if finish else "")
    return LlmFailure(Cause.OUTPUT_CAP) if finish == "length" else None


def _usage(usage: Any) -> Usage:
    """Read a provider's usage; an impossible count is unknown, like a missing count."""

    def count(owner: Any, name: str) -> int | None:
        value = getattr(owner, name, None)
        return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None

    def within(part: int | None, whole: int | None) -> int | None:
        return None if part is None or whole is None else min(part, whole)

    input_tokens, output_tokens = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    cached = count(getattr(usage, "prompt_tokens_details", None), "cached_tokens")
    reasoning = count(getattr(usage, "completion_tokens_details", None), "reasoning_tokens")
    return Usage(input_tokens, within(cached, input_tokens), output_tokens, within(reasoning, output_tokens))
