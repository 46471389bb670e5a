"""Span of a call to a model, in the words of OpenTelemetry, without prompt and reply."""

from collections.abc import Callable

from llm.failures import LlmFailure
from llm.requests import CompletionReply, CompletionRequest
from models.telemetry.tracing import span


def traced(request: CompletionRequest, ask: Callable[[], CompletionReply]) -> CompletionReply:
    """Make a call inside a span with model, purpose, usage and outcome."""
    with span(
        f"chat {request.model}",
        kind="client",
        gen_ai__operation__name="chat",
        gen_ai__request__model=request.model,
        gen_ai__request__max_tokens=request.max_output_tokens,
        afterturn__purpose=request.purpose,
    ) as step:
        try:
            reply = ask()
        except LlmFailure as failure:
            step.tell(afterturn__cause=failure.cause)
            raise
        step.tell(
            gen_ai__response__model=reply.answered_by,
            gen_ai__usage__input_tokens=reply.usage.input_tokens,
            gen_ai__usage__output_tokens=reply.usage.output_tokens,
            afterturn__price_usd=None if reply.price_usd is None else float(reply.price_usd),
            afterturn__call_id=str(reply.call_id),
        )
    return reply
