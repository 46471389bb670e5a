"""Requests of jobs to models, the replies, and the built-in model: answers from values, at once and free."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from uuid import UUID, uuid4

from context.extract import PassageIndex, extract
from context.precompute.prompt import ArtifactInput
from context.summary.extractive import summarize as extractive
from context.summary.prompt import SummaryInput
from context.tokens.text import count_text
from context.types import JsonObject
from llm.settings import EXTRACTIVE


class Purpose(StrEnum):
    """Purpose of a call; the ledger groups by purpose."""

    SUMMARIZE = "summarize"
    ARTIFACT = "artifact"
    PLAN = "plan"
    RANK = "rank"
    LEARN = "learn"


@dataclass(frozen=True)
class CompletionRequest:
    """A question to a model, with the account.

    Attributes:
        tenant_id: The paying tenant.
        purpose: Purpose of the call.
        model: The model's name as known to litellm, or `extractive`.
        messages: Chat messages in OpenAI's shape.
        max_output_tokens: Maximum tokens of the answer, >= 1.
        input_tokens: Estimated tokens of `messages`, >= 0; sets the deadline and the reservation.
        session_id: The conversation, for the session's cap.
        work_id: The asking work.
        temperature: Sampling temperature; 0 repeats itself as far as the provider can.
        response_format: OpenAI's `response_format`; left out for a provider without support.
        summary_input: The question as values, for the built-in `extractive` model.
        artifact_input: A question about an artifact as values, for the built-in model.
    """

    tenant_id: UUID
    purpose: Purpose
    model: str
    messages: Sequence[JsonObject]
    max_output_tokens: int
    input_tokens: int
    session_id: str | None = None
    work_id: int | None = None
    temperature: float = 0
    response_format: JsonObject | None = None
    summary_input: SummaryInput | None = None
    artifact_input: ArtifactInput | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens of a call as counted by the provider; None when not told.

    `cached_tokens` are part of the input, `reasoning_tokens` part of the output.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True)
class CompletionReply:
    """A normally ended answer with words.

    Attributes:
        call_id: Row in the ledger.
        text: The raw words; reading the words is the caller's part.
        finish_reason: `stop` in nearly every case; never `length` or a filter's.
        usage: Token usage.
        model: The called model, possibly a fallback.
        answered_by: The provider's name of the model.
        price_usd: Price; None when unknown.
        latency_s: Duration of the call, in seconds.
    """

    call_id: UUID
    text: str
    finish_reason: str
    usage: Usage
    model: str
    answered_by: str
    price_usd: Decimal | None
    latency_s: float


def answer(request: CompletionRequest) -> str | None:
    """Answer a question given as values; returns None for a kind of question unknown to the model.

    Args:
        request: The question.

    Returns:
        The words; blank with nothing to say.
    """
    if request.summary_input is not None:
        return extractive.summarize(request.summary_input, count=count_text)
    if request.artifact_input is not None:
        return _read(request.artifact_input)
    return None


def _read(asked: ArtifactInput) -> str:
    """Extract the passages of an artifact relevant to the focus, word for word."""
    index = asked.index or PassageIndex.build(asked.text, asked.kind)
    return extract(asked.text, index, asked.focus, budget_tokens=asked.budget_tokens, count=count_text).text


def complete_builtin(request: CompletionRequest) -> CompletionReply:
    """Answer with the built-in model for any requested model; free, so without a row in the ledger.

    Args:
        request: A question given as values.

    Returns:
        The words; blank with nothing to say.
    """
    text = answer(request) or ""
    return CompletionReply(uuid4(), text, "stop", Usage(), EXTRACTIVE, EXTRACTIVE, Decimal(0), 0.0)
