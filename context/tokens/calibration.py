"""Learning from reported usage: one bounded factor per tenant and model, robust to outliers."""

import math
from dataclasses import dataclass

from context.types import JsonObject

FACTOR_MIN = 0.5
FACTOR_MAX = 2.5
"""A factor beyond these: the wrong model or the wrong context was measured."""

STEP_MAX = 0.25
"""The most that one observation may move the logarithm of the factor: an outlier is one small step."""

GAIN_MIN = 0.05
"""The weight of a new observation once there are many: old ones fade over about twenty."""

PRIOR_OBSERVATIONS = 5
"""The family's own factor weighs as much as so many observations at the start."""

HALF_WEIGHT_TOKENS = 1_000
"""Small requests are mostly fixed costs and teach little about a factor: half as much at this size."""

TRUSTED_OBSERVATIONS = 20
"""From so many on, the observed spread may narrow the family's bound, by a quarter at most."""

SPREADS = 6.0
"""How many mean deviations a narrowed bound keeps from the calibrated estimate."""

LEAST_SPREADS = 4.0
"""How many any bound keeps: few reports, or uneven ones, show that the family's own bound may be too low."""

MOST_REPORTS = 3
"""An observation counts at most so many times: those of one session repeat each other."""


@dataclass(frozen=True)
class Calibration:
    """What reported usage has taught about one tenant's use of one model.

    Attributes:
        model: The model it was learned from; another one starts again.
        factor: Reported tokens for one estimated token, in [0.5, 2.5].
        observations: How many reports it rests on, >= 0.
        spread: Mean distance of the reports from the calibrated estimate, as a logarithm, >= 0.
    """

    model: str = ""
    factor: float = 1.0
    observations: int = 0
    spread: float = 0.0

    def apply(self, estimated: float) -> int:
        """Correct an estimate.

        Args:
            estimated: Tokens, >= 0.

        Returns:
            Tokens, >= 0.
        """
        return round(estimated * self.factor)

    def bound(self, estimated: float, high: float) -> int:
        """Bound what will be reported.

        Args:
            estimated: The unbiased estimate, before calibration.
            high: The family's bound, before calibration.

        Returns:
            Tokens: the family's bound, raised where reports run higher than estimates or are uneven, and
            narrowed where many reports were close. Never below the calibrated estimate.
        """
        calibrated = estimated * self.factor
        uneven = calibrated * math.exp(LEAST_SPREADS * min(self.spread, STEP_MAX))
        bound = max(high * max(1.0, self.factor), uneven)
        if self.observations >= TRUSTED_OBSERVATIONS:
            learned = calibrated * math.exp(SPREADS * self.spread)
            bound = min(bound, max(learned, (calibrated + 3 * bound) / 4))
        return math.ceil(bound)


UNCALIBRATED = Calibration()


def observe(
    calibration: Calibration, *, model: str, estimated: int, reported: int, reports: int = 1
) -> Calibration:
    """Learn from one reported usage, or from several that were compared with each other.

    Args:
        calibration: What is known so far.
        model: The model that reported; another one than before resets the calibration.
        estimated: The uncalibrated estimate for the very context that was sent, in tokens.
        reported: The input tokens that the provider counted, cached ones included.
        reports: On how many reports the two numbers rest, >= 1; more than `MOST_REPORTS` count as that.

    Returns:
        The calibration with this observation in it; unchanged where a number is not positive.
    """
    if estimated <= 0 or reported <= 0:
        return calibration
    if calibration.model != model:
        calibration = Calibration(model=model)
    distance = math.log(reported / (estimated * calibration.factor))
    weight = estimated / (estimated + HALF_WEIGHT_TOKENS)
    single = weight * max(1 / (calibration.observations + 1 + PRIOR_OBSERVATIONS), GAIN_MIN)
    gain = 1 - (1 - single) ** min(reports, MOST_REPORTS)
    step = max(-STEP_MAX, min(STEP_MAX, distance)) * gain
    factor = max(FACTOR_MIN, min(FACTOR_MAX, calibration.factor * math.exp(step)))
    spread = calibration.spread + gain * (abs(distance) - calibration.spread)
    return Calibration(
        model=model,
        factor=factor,
        observations=calibration.observations + 1,
        spread=max(0.0, min(spread, math.log(FACTOR_MAX))),
    )


_PROMPT_FIELDS = ("prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount")
_CACHE_FIELDS = (
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cacheWriteInputTokens",
)


def reported_input_tokens(usage: JsonObject) -> int | None:
    """Read the input tokens out of a usage report of any provider.

    Anthropic and Bedrock report cached tokens beside the others, OpenAI and Google among them.

    Args:
        usage: The usage object as the provider sent it.

    Returns:
        All input tokens, cached ones included; None where there is no number to read.
    """
    for name in _PROMPT_FIELDS:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            beside = name in {"input_tokens", "inputTokens"}
            cached = (usage.get(field) for field in _CACHE_FIELDS) if beside else ()
            return value + sum(number for number in cached if isinstance(number, int))
    return None
