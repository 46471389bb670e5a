"""Meaning of a provider's refusal: kind, named limit, and time to retry."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from context.providers.refused_sizes import limit_in, requested_in, two_sizes
from context.types import JsonObject

TEXT_LIMIT_CHARS = 20_000
"""Length to which error bodies are read: some providers send parts of the request back."""

DEPTH_LIMIT = 8
"""Nesting depth to which bodies are read; deeper content says nothing about the error."""


class ErrorKind(StrEnum):
    """Kinds of errors, as far as the kind changes the next step."""

    CONTEXT_OVERFLOW = "context-overflow"
    SIGNATURE = "reasoning-signature"
    RATE_LIMIT = "rate-limit"
    QUOTA = "quota"
    AUTH = "auth"
    MODEL_NOT_FOUND = "model-not-found"
    CONTENT_FILTER = "content-filter"
    INVALID_REQUEST = "invalid-request"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class ProviderError:
    """A parsed refusal.

    Attributes:
        kind: The kind of error.
        limit_tokens: The context limit named by an overflow, > 0.
        requested_tokens: The requested size named by an overflow, > 0.
        retry_after_s: Seconds to wait, >= 0, if named.
        limit_images: The image limit named by an overflow of images, >= 0.
        second_chance: The smaller and the larger number named by an unknown refusal with words about size:
            perhaps the limit and the requested size.
    """

    kind: ErrorKind
    limit_tokens: int | None = None
    requested_tokens: int | None = None
    retry_after_s: float | None = None
    limit_images: int | None = None
    second_chance: tuple[int, int] | None = None


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE | re.DOTALL)


_OVERFLOW = _any_of(
    r"context_(?:length|window)_exceeded",
    r"exceed_context_size",
    r"ContextWindowExceeded",
    r"request_too_large",
    r"maximum context length",
    r"exceed\w{0,12} (?:the |its |this )?(?:available |max\w* |model'?s? )*"
    r"context[ _](?:size|length|window|limit)",
    r"context[ _](?:size|length|window|limit) (?:is |was |has been )?(?:exceed|overflow)",
    r"context (?:the )?overflows",
    r"(?:prompt|input|request) (?:is |was )?too (?:long|large) for (?:the |this |requested )*model",
    r"\bprompt (?:is |was )?too long",
    r"\binput (?:is |was )?too (?:long|large)",
    r"context (?:length|window|size) is only",
    r"input tokens? [\d,. ]{1,14}exceeded",
    r"input (?:and|plus) output (?:tokens )?[\d,. ]{1,14}>",
    r"最大(?:上下文|输入)\D{0,12}\d",
    r"prompt contains .{1,40}tokens.{0,60}too large",
    r"input token count.{0,60}(?:exceed|only supports|supports up to)",
    r"(?:number of )?input tokens exceed",
    r"input tokens [\d,. ]+cannot exceed",
    r"maximum prompt length",
    r"prompt token count.{0,40}exceeds",
    r"model token limit",
    r"reduce the length of (?:the |your )(?:messages|prompt|input)",
    r"greater than the context length",
    r"longer than the maximum model length",
    r"prompt \(.{1,30}tokens\) is too long",
    r"too many tokens: ",
    r"tokens`? ?\+ ?`?max_new_tokens`? must be <=",
    r"must have less than [\d,. ]+ tokens",
    r"range of input length should be",
    r"input length.{0,40}exceed",
    r"prompt.{0,4}超长|上下文.{0,12}超|输入.{0,8}超|token.{0,12}(?:超出|超过).{0,12}(?:上限|限制|最大)",
    r"prompt exceeds max length",  # z.ai, code 1261
    r"tokens? in (?:the )?request more than max tokens allowed",  # z.ai
    r"longer than the model'?s? context (?:length|window)",  # Together, SGLang
    r"prompt (?:has|contains) more tokens than",
    r"(?:prompt|input|message)s? (?:token )?length.{0,30}exceed",  # NIM, TensorRT-LLM, Volcano Ark
    r"tokens? of image and text exceed",  # Volcano Ark
    r"number of tokens in the prompt exceed",  # Mistral
    r"message token length exceed",  # DashScope
    r"sum of (?:the )?prompt (?:length|tokens).{0,80}(?:exceed|must be)",  # TensorRT-LLM
    r"maximum supported sequence length",
    r"max_tokens must be at least 1, got -\d",  # vLLM, where the prompt alone is over
    r"too many input tokens",  # Bedrock
    r"exceed\w{0,4} (?:the )?max\w{0,4} (?:number of )?(?:input|prompt) tokens",
    r"\bn_ctx [\d,._ ]{1,14}exceed",
    r"(?:exceeds?|over) the (?:model'?s? )?(?:maximum )?(?:input|prompt)(?: token)? (?:limit|length|size)",
    r"model_max_prompt_tokens_exceeded",  # GitHub Copilot
    r"context window (?:is )?(?:full|exceeds)",  # MiniMax
    r"(?:reached|beyond|over) (?:the )?(?:model'?s? )?context (?:length|window|size)",  # LM Studio
    r"context overflow",
    r"(?:prompt|input|request) (?:has|contains) [\d,._ ]{1,14}tokens.{0,40}(?:exceed|but|while)",  # Jamba
    r"prompt: length: [\d,._ ]{1,14}, maximum [\d,._ ]{1,14}",  # Bedrock
    r"input tokens? length [\d,._ ]{1,14}exceed",  # Azure AI Foundry
    r"tokens_limit_reached",  # GitHub Models
    r"payload size exceed",  # Gemini
    r"too many tokens overall",
    r"length of (?:the )?(?:input|prompt)\w*.{0,60}(?:exceed|must be less|above)",  # z.ai, SiliconFlow
    r"input length \(?[\d,._ ]{1,14}\)? (?:is )?above",  # AI21
    r"token length [\d,._ ]{1,14}(?:is )?over max",  # Novita
    r"\b(?:prompts?|inputs?|conversation|messages? you submitted)\b[^.\n]{0,60}(?:exceeds?\b|exceeding"
    r"|(?:longer|larger) than|(?<!array )(?<!string )too long|(?:cannot|not|n't) fit)",
    r"too many tokens (?:in|for) ",
    r"(?:cannot|not|n't) fit [\d,._ ]{1,14}tokens",
    r"(?<!output )(?<!completion )\btoken limit (?:is |was )?exceeded|max_input_tokens exceeded",
    r"tokens(?: \([\d,._ ]{1,14}\))? exceeds? the (?:limit|maximum) (?:for|of) (?:the|this) model",
    r"tokens exceed max context",
    r"max(?:imum)? tokens of [\d,._ ]{1,14}exceeded",  # Snowflake
    r"(?:输入|提示|上下文|内容).{0,8}过长",
    r"payload too large|request entity too large|request (?:body )?(?:size )?(?:is )?too large",
)
_IMAGES = _any_of(
    r"too many images",
    r"at most \d{1,6} image",
    r"(?:contains?|has|passed) \d{1,6} images?\b.{0,80}(?:exceed|maximum|max|limit|more than|only)",
    r"(?:maximum|max) number of images",
    r"number of images.{0,40}exceed|image[_ ]count.{0,40}exceed",
    r"max(?:imum)? images",
    r"(?:up to|maximum of|limit of|only) \d{1,6} images",
    r"max allowed size for many-image requests",
)
"""Refusals of too many images in the window, or of too large images among many."""

_MOST_IMAGES = _any_of(
    r"at most (\d{1,6}) image",
    r"number of images \((\d{1,6})\)",
    r"images?\b.{0,60}\d \+ \d{1,6} > (\d{1,6})",  # Anthropic
    r"images?\b.{0,60}\b(?:maximum|limit|max|allowed)\b(?: of| is)?[ :]{1,2}(\d{1,6})",
    r"(?:maximum|limit|max) (?:of|is)[ :]{1,2}(\d{1,6})",
    r"(?:up to|only) (\d{1,6}) (?:images|are allowed)",
)
_SEALED = (
    r"(?:(?:thinking|thought|reasoning)\w{0,20}[`'\". _]{0,4}(?:(?:block|item|part)s?[ '._]{1,3})?signature"
    r"|signature\W{0,4}(?:in|of) \W?(?:thinking|reasoning)|redacted_thinking"
    r"|encrypted[ _](?:content|index|reasoning)|reasoning (?:content|item|details)|compaction blob)"
)
"""Names of content sealed by a provider."""

_BROKEN = (
    r"(?:\binvalid|not valid|corrupt|missing|expired|mismatch|field required|should be a valid"
    r"|verif(?:y|ied|ication)|de(?:crypt|cod)\w*|not supported|not issued|not match"
    r"|(?:another|other|different) (?:organi[sz]ation|account|project|model|provider|key|tenant|caller))"
)
"""Words for a sealed content that a provider cannot read."""

_SIGNATURE = _any_of(
    rf"{_SEALED}[^\n]{{0,120}}{_BROKEN}",
    rf"{_BROKEN}[^\n]{{0,60}}{_SEALED}",
    r"thinking`? blocks?.{0,120}(?:cannot be modified|must remain as they were)",
    r"thinking blocks?.{0,60}signature mismatch",
    r"of type 'reasoning' was provided without its required|without its required 'reasoning' item",
    r"item with id '?(?:rs|msg|fc|ws|ctc)_\w{1,80}'? not found",
)
"""Refusals of reasoning in the history; the window is not too large."""

_RATE_LIMIT = _any_of(
    r"rate[ _-]?limit",
    r"tokens? per (?:min|hour|day)|requests? per (?:min|hour|day|second)",
    r"too many (?:requests|concurrent)",
    r"too many tokens, please wait|(?:daily|hourly|monthly|minute) (?:token )?(?:limit|quota)",
    r"throttl",
    r"resource_?\s?(?:has been )?exhausted",
    r"quota.{0,200}retry in",
)
_QUOTA = _any_of(
    r"insufficient_quota",
    r"exceeded your current quota",
    r"insufficient (?:balance|credits?|funds)",
    r"credit balance is too low",
    r"requires more credits",
    r"billing (?:hard )?limit|billing_not_active|payment required|spending limit|out of credits",
)
_AUTH = _any_of(
    r"invalid_api_key|incorrect api key|invalid (?:x-)?api[- ]?key|api key not valid",
    r"authentication[_ ]error|unauthori[sz]ed|unauthenticated",
    r"permission[_ ](?:error|denied)|access ?denied|security token included in the request is invalid",
)
_MODEL = _any_of(
    r"model_not_found|model_decommissioned|not_found_error",
    r"model .{1,120}(?:does not exist|not found|is not supported\. supported models|has been de\w+ed)",
    r"models?/\S+ is not found",
    r"(?:provided )?model identifier is invalid|not a valid model id|unknown model|invalid model name",
    r"no endpoints found",
)
_FILTER = _any_of(
    r"content_?(?:filter|policy)|content management policy|responsible_?ai",
    r"safety system|blocked by .{0,20}(?:guardrail|safety)|prohibited_content|flagged",
    r"data_inspection_failed|inappropriate content",
)
_TIMEOUT = _any_of(r"time[d]?[ -]?out", r"deadline[_ ]exceeded")
_OVERLOADED = _any_of(
    r"overloaded",
    r"server (?:is )?busy",
    r"at capacity|no capacity",
    r"service ?unavailable",
    r"try again later",
)

_NEVER_OVERFLOW = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS,
}
_BY_TEXT = (
    (ErrorKind.SIGNATURE, _SIGNATURE),
    (ErrorKind.CONTENT_FILTER, _FILTER),
    (ErrorKind.MODEL_NOT_FOUND, _MODEL),
    (ErrorKind.AUTH, _AUTH),
    (ErrorKind.TIMEOUT, _TIMEOUT),
    (ErrorKind.OVERLOADED, _OVERLOADED),
)
_BY_STATUS = {
    HTTPStatus.UNAUTHORIZED: ErrorKind.AUTH,
    HTTPStatus.FORBIDDEN: ErrorKind.AUTH,
    HTTPStatus.PAYMENT_REQUIRED: ErrorKind.QUOTA,
    HTTPStatus.NOT_FOUND: ErrorKind.MODEL_NOT_FOUND,
    HTTPStatus.REQUEST_TIMEOUT: ErrorKind.TIMEOUT,
    HTTPStatus.GATEWAY_TIMEOUT: ErrorKind.TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS: ErrorKind.RATE_LIMIT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ErrorKind.CONTEXT_OVERFLOW,
}


def classify(status: int | None, error: JsonObject | str) -> ProviderError:
    """Read a provider's refusal.

    Args:
        status: The HTTP status, if any.
        error: The decoded body, or its text.

    Returns:
        The kind, and the named numbers. Never raises.
    """
    error = _decoded(error) if isinstance(error, str) else error
    text = " \n".join(_strings(error, 0))[:TEXT_LIMIT_CHARS]
    status = status if status is not None else _status_inside(error)
    kind = _kind(status, text)
    if kind is not ErrorKind.CONTEXT_OVERFLOW:
        is_open = kind in (ErrorKind.UNKNOWN, ErrorKind.INVALID_REQUEST)
        chance = two_sizes(text) if is_open and status not in _NEVER_OVERFLOW else None
        return ProviderError(kind, retry_after_s=_retry_after(text), second_chance=chance)
    if _IMAGES.search(text) and not _OVERFLOW.search(text):
        return ProviderError(kind, retry_after_s=_retry_after(text), limit_images=_most_images(text))
    limit, requested = limit_in(text) or _field(error, "n_ctx"), requested_in(text)
    requested = requested or _field(error, "n_prompt_tokens")
    sizes = two_sizes(text)
    if sizes is not None and limit in (None, sizes[0]) and requested in (None, sizes[1]):
        limit, requested = sizes
    return ProviderError(
        kind, limit_tokens=limit, requested_tokens=requested, retry_after_s=_retry_after(text)
    )


def _decoded(text: str) -> JsonObject | str:
    try:
        body = json.loads(text) if text.lstrip().startswith("{") else text
    except (ValueError, RecursionError):
        return text
    return body if isinstance(body, dict) else text


def _kind(status: int | None, text: str) -> ErrorKind:
    if status == HTTPStatus.PAYMENT_REQUIRED:
        return ErrorKind.QUOTA
    if _QUOTA.search(text) and not re.search(r"retry in \d", text):
        return ErrorKind.QUOTA
    if _RATE_LIMIT.search(text):
        return ErrorKind.RATE_LIMIT
    if status not in _NEVER_OVERFLOW and (_OVERFLOW.search(text) or _IMAGES.search(text)):
        return ErrorKind.CONTEXT_OVERFLOW
    for kind, pattern in _BY_TEXT:
        if pattern.search(text) and not (kind is ErrorKind.CONTENT_FILTER and status in _NEVER_OVERFLOW):
            return kind
    return _kind_of_status(status)


def _kind_of_status(status: int | None) -> ErrorKind:
    if status is None:
        return ErrorKind.UNKNOWN
    if status in _BY_STATUS:
        return _BY_STATUS[HTTPStatus(status)]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ErrorKind.OVERLOADED
    return ErrorKind.INVALID_REQUEST if status >= HTTPStatus.BAD_REQUEST else ErrorKind.UNKNOWN


_SAID = frozenset(
    {"message", "msg", "detail", "details", "error", "errors", "type", "code", "status", "reason", "metadata"}
    | {"raw", "__type", "title", "error_msg", "error_description", "retryDelay", "retry_after", "innererror"}
)
"""Fields with a provider's own words; other fields may quote the request or the model."""


_WAITS = frozenset({"retry_after", "retryDelay"})


def _strings(value: object, depth: int, key: str = "error") -> Iterator[str]:
    if depth > DEPTH_LIMIT:
        return
    if isinstance(value, str):
        yield f"retry after {value}" if key in _WAITS else value
    elif isinstance(value, int | float) and key in _WAITS:
        yield f"retry after {value}s"
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, depth + 1, key)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name in _SAID:
                yield from _strings(inner, depth + 1, name)


def _status_inside(error: JsonObject | str) -> int | None:
    inner = error.get("error", error) if isinstance(error, dict) else None
    fields = (inner.get("code"), inner.get("status")) if isinstance(inner, dict) else ()
    return next((each for each in fields if isinstance(each, int) and not isinstance(each, bool)), None)


def _field(error: object, name: str) -> int | None:
    inner = error.get("error", error) if isinstance(error, dict) else None
    value = inner.get(name) if isinstance(inner, dict) else None
    return value if isinstance(value, int) and value > 0 else None


_WAIT = re.compile(
    r"(?:try again|retry|wait)\D{0,24}?(?:(\d+)m(?!s))?\s?(\d+(?:\.\d+)?)\s?(ms|s\b|sec|min|$)",
    re.IGNORECASE,
)


def _most_images(text: str) -> int | None:
    found = _MOST_IMAGES.search(text)
    return next((int(number) for number in found.groups() if number), None) if found else None


def _retry_after(text: str) -> float | None:
    found = _WAIT.search(text)
    if found is None:
        return None
    minutes, amount, unit = found.groups()
    seconds = float(amount) * {"ms": 0.001, "min": 60.0}.get(unit.lower(), 1.0)
    return seconds + 60.0 * int(minutes or 0)
