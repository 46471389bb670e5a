"""Asking one model after another: which come in question, and what to say where none answered."""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from context.errors import AfterturnError
from llm.failures import FailureKind, LlmFailure
from models.budget import BudgetDeniedError
from models.provider import ProviderParkedError
from models.provider_pace import ProviderPacedError

T = TypeVar("T")

_NEXT_MODEL_MAY_HELP = frozenset(
    {FailureKind.RETRY_AFTER, FailureKind.RETRY_BACKOFF, FailureKind.PERMANENT, FailureKind.QUOTA}
)


def first_answer(models: Sequence[str], ask: Callable[[str], T], *, park_s: float) -> T:
    """Ask models in their order until one answers.

    Where none does, the refusal that waits least is raised: work that a fallback cannot do now, for its key,
    its price or its format, comes again as soon as the first model may be asked. What is over a cap or was
    asked often enough waits, and is not passed on to a fallback.

    Args:
        models: Which ones, at least one, the wanted one first.
        ask: Asks one of them once.
        park_s: How long a model is left alone that only an operator can mend.

    Raises:
        LlmFailure: The failure of the only model, or the one after which waiting is shortest.
        ProviderParkedError: The same of a model that may not be asked now.
        BudgetDeniedError: The same of one for which a cap has no room.
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
    """The models that may be asked earlier than they say, because a gate of theirs is what is in the way."""
    if isinstance(refusal, ProviderParkedError):
        return refusal.gates
    if isinstance(refusal, LlmFailure) and refusal.parks and refusal.model is not None:
        return (refusal.model,)
    return ()


def _wait_s(refusal: AfterturnError, park_s: float) -> float:
    """How long until it may be over; for ever where the question itself was refused."""
    if isinstance(refusal, LlmFailure):
        if refusal.parks:
            return park_s
        return (refusal.retry_after_s or 0.0) if refusal.transient else math.inf
    if isinstance(refusal, ProviderParkedError | BudgetDeniedError):
        return refusal.retry_in_s
    return math.inf
