"""A model call as a span, in the names of OpenTelemetry's conventions for generative AI."""

from collections.abc import Callable

from llm.failures import LlmFailure
from llm.requests import CompletionReply, CompletionRequest
from llm.settings import EXTRACTIVE
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


def traced(request: CompletionRequest, ask: Callable[[], CompletionReply]) -> CompletionReply:
    """Make a call inside a span with model, purpose, usage and outcome; the span holds no text."""
    with span(
        f"chat {request.model}",
        kind="client",
        gen_ai__operation__name="chat",
        gen_ai__provider__name=provider_of(request.model),
        gen_ai__conversation__id=request.session_id,
        session__id=request.session_id,
        gen_ai__output__type="json" if request.response_format else "text",
        gen_ai__request__model=request.model,
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
            afterturn__price_usd=None if reply.price_usd is None else float(reply.price_usd),
            afterturn__call_id=str(reply.call_id),
        )
    return reply
