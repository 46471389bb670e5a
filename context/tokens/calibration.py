"""Conversion of stored counts to a model's own tokens, calibrated by reported usage."""

import math
from dataclasses import dataclass

from context.tokens.families import Profile, profile_of
from context.tokens.message import CALL_OVERHEAD, MESSAGE_OVERHEAD, RESULT_OVERHEAD, Count
from context.tokens.tools import NO_TOOLS, ToolsCount
from context.types import JsonObject

FACTOR_MIN = 0.5
FACTOR_MAX = 2.5
"""Upper limit of the factor; a larger ratio comes from a wrong model or a wrong context."""

STEP_MAX = 0.25
"""Largest change of the factor's logarithm by a single observation, so that an outlier is a small step."""

GAIN_MIN = 0.05
"""Least weight of a new observation; old observations fade over about twenty new ones."""

PRIOR_OBSERVATIONS = 5
"""Weight of the family's own factor at the start, in observations."""

HALF_WEIGHT_TOKENS = 1_000
"""Request size with half weight; small requests are mostly fixed costs and teach little about the factor."""

TRUSTED_OBSERVATIONS = 20
"""Observations after which the observed spread may narrow the family's bound, by a quarter at most."""

SPREADS = 6.0
"""Mean deviations between a narrowed bound and the calibrated estimate."""

LEAST_SPREADS = 4.0
"""Spreads kept by any bound: after few or uneven reports, the family's own bound may be too low."""

MOST_REPORTS = 3
"""Most reports counted in an observation; reports of the same session repeat each other."""


@dataclass(frozen=True)
class Calibration:
    """Calibration of a model for a tenant, from reported usage.

    Attributes:
        model: The calibrated model; another model starts from the beginning.
        factor: Reported tokens per estimated token, in [0.5, 2.5].
        observations: Number of observations, >= 0.
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
        """Compute an upper bound of the reported tokens.

        Args:
            estimated: The unbiased estimate, before calibration.
            high: The family's bound, before calibration.

        Returns:
            Tokens: the family's bound, raised if reports exceed estimates or are uneven, and narrowed if many
                reports
            were close. Never below the calibrated estimate.
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
    """Update the calibration from a reported usage, or from several compared reports.

    Args:
        calibration: The calibration so far.
        model: The reporting model; a different model resets the calibration.
        estimated: The uncalibrated estimate for the sent context, in tokens.
        reported: The input tokens counted by the provider, including cached tokens.
        reports: Number of reports behind the two numbers, >= 1; capped at `MOST_REPORTS`.

    Returns:
        The updated calibration; unchanged if a number is not positive.
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
    """Read the input tokens from a usage report of any provider.

    Anthropic and Bedrock report cached tokens separately; OpenAI and Google include cached tokens.

    Args:
        usage: The usage object as sent by the provider.

    Returns:
        All input tokens, including cached tokens; None without a number.
    """
    for name in _PROMPT_FIELDS:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            beside = name in {"input_tokens", "inputTokens"}
            cached = (usage.get(field) for field in _CACHE_FIELDS) if beside else ()
            return value + sum(number for number in cached if isinstance(number, int))
    return None


_UNBIASED, _HIGH = 0, 1


@dataclass(frozen=True)
class Request:
    """Parts of a request beside the messages.

    Attributes:
        tools: The tool definitions' count.
        schema_tokens: Canonical tokens of the demanded answer schema, 0 for none.
        forced: True if a tool call is demanded.
        thinking: True if thinking is on.
    """

    tools: ToolsCount = NO_TOOLS
    schema_tokens: int = 0
    forced: bool = False
    thinking: bool = False


PLAIN = Request()


def estimate(
    count: Count | int,
    model: str,
    request: Request | None = None,
    *,
    calibration: Calibration = UNCALIBRATED,
) -> int:
    """Estimate the input tokens billed by a model, without bias.

    Args:
        count: The sum of the messages' counts; a plain number is a canonical count.
        model: The model's name, or its family's.
        request: The parts beside the messages; None for a part of a request without fixed costs.
        calibration: Calibration from reported usage of the tenant and model.

    Returns:
        Tokens, >= 0.
    """
    return calibration.apply(_tokens(_as_count(count), profile_of(model), request, _UNBIASED))


def guarantee(
    count: Count | int,
    model: str,
    request: Request | None = None,
    *,
    calibration: Calibration = UNCALIBRATED,
) -> int:
    """Compute an upper bound of the input tokens billed by a model, for budget checks.

    Args:
        count: The sum of the messages' counts; a plain number is a canonical count, with a wider bound.
        model: The model's name, or its family's.
        request: The parts beside the messages; None for a part of a request.
        calibration: Calibration from reported usage; tightens the bound only after enough reports.

    Returns:
        Tokens, never below the estimate.
    """
    whole, profile = _as_count(count), profile_of(model)
    return calibration.bound(
        _tokens(whole, profile, request, _UNBIASED), high_tokens(whole, profile, request)
    )


def high_tokens(count: Count, profile: Profile, request: Request | None) -> float:
    """Compute the uncalibrated bound by a profile."""
    return _tokens(count, profile, request, _HIGH)


def _as_count(count: Count | int) -> Count:
    return count if isinstance(count, Count) else Count(count)


def _tokens(count: Count, profile: Profile, request: Request | None, side: int) -> float:
    tokens = _message_tokens(count, profile, side)
    return tokens if request is None else tokens + _request_tokens(request, profile, side)


def _message_tokens(count: Count, profile: Profile, side: int) -> float:
    if count.wide is None:
        return count.tokens * profile.canonical[side]
    basis = count.wide if profile.wide else count.tokens
    if side == _HIGH and profile.text[_HIGH] > 1:
        basis = max(count.wide, count.tokens)
    wrapping = MESSAGE_OVERHEAD * count.messages + (CALL_OVERHEAD + RESULT_OVERHEAD) * count.calls
    text = (
        max(0, basis - wrapping) * profile.text[side] + max(0, count.wide - count.tokens) * profile.gap[side]
    )
    return text + profile.message[side] * count.messages + profile.call[side] * count.calls


def _request_tokens(request: Request, profile: Profile, side: int) -> float:
    tokens = float(profile.request[side])
    if request.tools.tools:
        basis = request.tools.wide if profile.tools_json else request.tools.tokens
        tokens += profile.tools_request[side] + profile.tool[side] * request.tools.tools
        tokens += profile.tools[side] * basis
        tokens += profile.forced[side] if request.forced else 0
    if request.schema_tokens:
        tokens += profile.schema_request[side] + profile.schema[side] * request.schema_tokens
    return tokens + (profile.thinking[side] if request.thinking else 0)
