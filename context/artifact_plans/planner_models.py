"""Choice of models: the request's model answers, others plan and summarize."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from context.errors import InvalidInputError
from context.providers.model_names import model_ids

DEFAULT_MODEL = "gpt-4o-mini"
EXPENSIVE_USD_PER_INPUT_TOKEN = Decimal("0.00001")
"""Ten dollars a million tokens: only the largest models cost more."""

LARGEST_CLASS_SHARE = Decimal("0.25")
_LARGEST = re.compile(r"claude-(?:[\d.-]+-)?(?:opus|mythos|fable)|(?:^|/)o\d(?:-\w+)?-pro|gpt-[\d.]+-pro")
_SHOWN_MODELS = 10


@dataclass(frozen=True)
class ModelDefaults:
    """The models of the settings.

    Attributes:
        context_planner: Plans how artifacts are used.
        summarizer: Summarizes history and artifacts.
    """

    context_planner: str = DEFAULT_MODEL
    summarizer: str = DEFAULT_MODEL


@dataclass(frozen=True)
class ModelConfig:
    """The models of one request.

    Attributes:
        primary: Answers; named by the request.
        context_planner: As in `ModelDefaults`.
        summarizer: As in `ModelDefaults`.
    """

    primary: str
    context_planner: str
    summarizer: str

    @classmethod
    def from_request(
        cls,
        primary: str,
        *,
        planner: str | None = None,
        summarizer: str | None = None,
        defaults: ModelDefaults,
        allowed: Collection[str],
    ) -> "ModelConfig":
        """Choose the models of a request.

        Args:
            primary: The answering model.
            planner: A planning model other than the settings'; None for the settings' model.
            summarizer: The same for summaries.
            defaults: The models of the settings.
            allowed: The choices of a request beside its own default, which is always allowed.

        Raises:
            InvalidInputError: A model may not be chosen; the field and the allowed models are named.
        """
        if not primary.strip():
            raise InvalidInputError("model", "must not be empty")
        return cls(
            primary=primary,
            context_planner=_chosen("planner_model", planner, defaults.context_planner, allowed),
            summarizer=_chosen("summarizer_model", summarizer, defaults.summarizer, allowed),
        )


def is_expensive_primary(
    price_per_input_token: Decimal | None,
    threshold: Decimal | float = EXPENSIVE_USD_PER_INPUT_TOKEN,
    *,
    model: str = "",
) -> bool:
    """Tell whether a model's input is so expensive that a cheap model should choose it first.

    A model without a known price is not expensive: such models are mostly hosted by the platform itself, and
    a planning call costs money for certain while its saving is a guess. An unknown price is never taken as
    0: no cost is computed from it.

    Args:
        price_per_input_token: In US dollars; None if unknown.
        threshold: The price above which a model is expensive, >= 0.
        model: The name at any host. A model of its maker's largest class is expensive from a quarter of the
            threshold on, since such models became cheaper and are still the dearest.

    Returns:
        True for a known price above the threshold.
    """
    if price_per_input_token is None:
        return False
    share = LARGEST_CLASS_SHARE if is_of_the_largest_class(model) else 1
    return price_per_input_token > Decimal(str(threshold)) * share


def is_of_the_largest_class(model: str) -> bool:
    """Say whether a model's name belongs to its maker's largest class."""
    return any(_LARGEST.search(name) for name in model_ids(model))


def _chosen(field: str, wanted: str | None, default: str, allowed: Collection[str]) -> str:
    if wanted is None or wanted == default:
        return default
    if wanted in allowed:
        return wanted
    names = sorted({default, *allowed} - {""})
    shown = ", ".join(names[:_SHOWN_MODELS]) + (" …" if len(names) > _SHOWN_MODELS else "")
    raise InvalidInputError(
        field, f"{wanted[:80]!r} may not be chosen; allowed: {shown or 'none'}", allowed=names
    )
