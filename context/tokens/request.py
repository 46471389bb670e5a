"""Conversion of stored counts to a model's own tokens: an unbiased estimate, and a guaranteed bound."""

from dataclasses import dataclass

from context.tokens.calibration import UNCALIBRATED, Calibration
from context.tokens.message import CALL_OVERHEAD, MESSAGE_OVERHEAD, RESULT_OVERHEAD, Count
from context.tokens.profiles import Profile, profile_of
from context.tokens.tools import NO_TOOLS, ToolsCount

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
