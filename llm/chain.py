"""Chain of models: candidates in order, and the raised failure when no model answers."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from context.errors import AfterturnError
from llm.failures import FailureKind, LlmFailure
from models.ledger.caps import BudgetDeniedError
from models.providers.circuit_breaker import ProviderParkedError
from models.providers.rate_limit import ProviderPacedError

T = TypeVar("T")

_NEXT_MODEL_MAY_HELP = frozenset(
    {FailureKind.RETRY_AFTER, FailureKind.RETRY_BACKOFF, FailureKind.PERMANENT, FailureKind.QUOTA}
)


def first_answer(models: Sequence[str], ask: Callable[[str], T], *, park_s: float) -> T:
    """Call models in order until a model answers.

    Without an answer, the refusal with the shortest wait is raised: work refused by a fallback for key, price
    or format comes again as soon as the first model is available. Work over a cap or beyond the rate limit
    waits, and is not passed on to a fallback.

    Args:
        models: Model names, at least one, the wanted model first.
        ask: Function that calls a model once.
        park_s: Pause of a model to be mended by an operator, in seconds.

    Raises:
        LlmFailure: The failure of the only model, or the failure with the shortest wait.
        ProviderParkedError: The same for a model not available now.
        BudgetDeniedError: The same for a model without room under a cap.
    """
    refusals: list[AfterturnError] = []
    for model in models:
        try:
            return ask(model)
        except (ProviderPacedError, BudgetDeniedError) as not_now:
            if not refusals:
                raise
            refusals.append(not_now)
        except ProviderParkedError as parked:
            refusals.append(parked)
        except LlmFailure as failure:
            if failure.kind not in _NEXT_MODEL_MAY_HELP:
                raise
            refusals.append(failure)
    refusal = min(reversed(refusals), key=lambda one: _wait_s(one, park_s))
    if isinstance(refusal, ProviderParkedError) and refusal.gates:
        refusal.gates = tuple(gate for one in refusals for gate in _gates(one))
    raise refusal


def _gates(refusal: AfterturnError) -> tuple[str, ...]:
    """List the models that may be available before the stated time, with a breaker in the way."""
    if isinstance(refusal, ProviderParkedError):
        return refusal.gates
    if isinstance(refusal, LlmFailure) and refusal.parks and refusal.model is not None:
        return (refusal.model,)
    return ()


def _wait_s(refusal: AfterturnError, park_s: float) -> float:
    """Compute the time until a refusal may be over; infinite for a refused question."""
    if isinstance(refusal, LlmFailure):
        if refusal.parks:
            return park_s
        return (refusal.retry_after_s or 0.0) if refusal.transient else math.inf
    if isinstance(refusal, ProviderParkedError | BudgetDeniedError):
        return refusal.retry_in_s
    return math.inf
