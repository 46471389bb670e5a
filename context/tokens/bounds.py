"""From the canonical count to a model's own tokens: an unbiased estimate, and a bound for the guarantee."""

import math

from context.tokens.families import ModelFamily, family_of

_FACTORS: dict[ModelFamily, tuple[float, float]] = {
    ModelFamily.OPENAI: (1.0, 1.02),
    ModelFamily.ANTHROPIC: (1.27, 1.75),
    ModelFamily.GOOGLE: (1.1, 1.4),
}
_OTHERS = (1.1, 1.5)


def estimate(canonical_tokens: int, model: str | ModelFamily) -> int:
    """Estimate a model's tokens without bias.

    Args:
        canonical_tokens: A canonical count, or a sum of them, >= 0.
        model: The model's name, or its family.

    Returns:
        Tokens, >= 0.
    """
    return math.ceil(canonical_tokens * _factors(model)[0])


def guarantee(canonical_tokens: int, model: str | ModelFamily) -> int:
    """Bound a model's tokens from above: the number that the budget counts with.

    Args:
        canonical_tokens: A canonical count, or a sum of them, >= 0.
        model: The model's name, or its family.

    Returns:
        Tokens, never below the estimate.
    """
    return math.ceil(canonical_tokens * _factors(model)[1])


def _factors(model: str | ModelFamily) -> tuple[float, float]:
    family = model if isinstance(model, ModelFamily) else family_of(model)
    return _FACTORS.get(family, _OTHERS)
