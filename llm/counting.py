"""Counts of model calls for operators."""

from llm.requests import CompletionRequest
from models.budget import Denial
from models.counting import Counted, count
from models.ledger import Settlement


def count_call(request: CompletionRequest, end: Settlement) -> None:
    """Count a settled call; an unknown amount is not counted as 0."""
    place = (request.purpose, request.model)
    count(Counted.CALLS, *place, end.failure or "ok")
    count(Counted.CALL_SECONDS, *place, by=max(end.latency_s, 0))
    tokens = {
        "input": end.input_tokens,
        "cached": end.cached_tokens,
        "output": end.output_tokens,
        "reasoning": end.reasoning_tokens,
    }
    for direction, amount in tokens.items():
        if amount:
            count(Counted.CALL_TOKENS, *place, direction, by=amount)
    if end.price_usd is not None:
        count(Counted.SPEND_USD, *place, by=float(end.price_usd))
    elif end.input_tokens is not None:
        count(Counted.UNPRICED, *place)


def count_denial(denial: Denial) -> None:
    """Count a call denied by a cap."""
    count(Counted.DENIED, denial.scope, denial.unit)
