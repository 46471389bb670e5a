"""What a job asks of a model, and what it gets back."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from context.precompute.prompt import ArtifactInput
from context.prompts import SummaryInput
from context.types import JsonObject


class Purpose(StrEnum):
    """What a call is for; the ledger groups by it."""

    SUMMARIZE = "summarize"
    ARTIFACT = "artifact"
    PLAN = "plan"
    RANK = "rank"
    LEARN = "learn"


@dataclass(frozen=True)
class CompletionRequest:
    """One question to a model, and on whose account.

    Attributes:
        tenant_id: Who pays.
        purpose: What it is for.
        model: The model's name as litellm knows it, or `extractive`.
        messages: Chat messages in OpenAI's shape.
        max_output_tokens: The most the answer may take, >= 1.
        input_tokens: The estimated cost of `messages`, >= 0; sets the deadline and the reservation.
        session_id: The conversation, for its cap.
        work_id: The due work that asks.
        temperature: 0 repeats itself as far as the provider can.
        response_format: OpenAI's `response_format`; left out where a provider has none.
        tools: Definitions that stand before the messages, as the chat sent them; none may be called.
        summary_input: The same question as values, for the built-in `extractive` model.
        artifact_input: The same of a question about an artifact.
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
    tools: Sequence[JsonObject] = ()
    summary_input: SummaryInput | None = None
    artifact_input: ArtifactInput | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens of one call as its provider counted them; None where it did not say.

    `cached_tokens` are part of the input, `reasoning_tokens` part of the output.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True)
class CompletionReply:
    """An answer that ended by itself and has words.

    Attributes:
        call_id: Its row in the ledger.
        text: The words as they came; reading them is the caller's part.
        finish_reason: `stop` in nearly every case; never `length` or a filter's.
        usage: What it took.
        model: The model that was asked, which may be a fallback.
        answered_by: The name under which the provider answered.
        price_usd: What it cost; None when nobody knows.
        latency_s: How long it took.
    """

    call_id: UUID
    text: str
    finish_reason: str
    usage: Usage
    model: str
    answered_by: str
    price_usd: Decimal | None
    latency_s: float
