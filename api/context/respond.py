"""Output of a window as an answer, with usage and reasons."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from fastapi import Response

from api.context.activation import RequestSize, cache_report
from api.context.answer import utilization_of, window_answer
from api.context.fill import FilledWindow
from api.context.request import ContextRequest, ParsedRequest, WindowLimits
from api.context.usage_report import artifact_members, tool_exclusions, tool_members
from api.preflight.routes import preflight_json
from api.settings import api_settings
from context.providers.cache_rules import cache_rule
from context.types import JsonObject, Wire
from context.window.activation import Activation
from context.window.assemble import Window
from context.window.cache_marks import Prefix, place_marks
from models.conversations.standing import SessionSnapshot


@dataclass(frozen=True)
class ResponseInputs:
    """Inputs of an answer.

    Attributes:
        tenant_id: The caller's tenant.
        request: The request.
        given: The parsed request, with the choices made.
        filled: The window.
        standing: The session's state; None for an unstored session.
        asked: Size of the request beside history.
        limits: Limits of the window from other sources.
        activation: Reason for the summary's activation now; None without an activation.
        prepared: The session's true state, if a part is in shadow; else the same as `standing`.
        shadow: The answer's section on shadow mode; None without shadow parts.
    """

    tenant_id: UUID
    request: ContextRequest
    given: ParsedRequest
    filled: FilledWindow
    standing: SessionSnapshot | None
    asked: RequestSize
    limits: WindowLimits
    activation: Activation | None = None
    prepared: SessionSnapshot | None = None
    shadow: Mapping[str, Any] | None = None


def respond(answering: ResponseInputs) -> Response:
    """Write a window down as an answer."""
    request, given, standing, asked = (
        answering.request,
        answering.given,
        answering.standing,
        answering.asked,
    )
    window, shelving = _with_tools_left_out(answering.filled.window, given), answering.filled.shelving
    utilization = {
        **utilization_of(window, standing, asked.budget, model=request.model, goal=request.focus),
        **artifact_members(answering.tenant_id, shelving, window.shelved, model=request.model),
        "tools": tool_members(given.chosen),
        "cache": {
            **cache_report(standing, asked, window.certificate, answering.activation),
            "in_place": list(answering.filled.in_place),
            "behind_history": [one.artifact.artifact_id for one in window.shelved.execution.used],
        },
        "limits": {
            "asked": request.context_window,
            "learned": answering.limits.learned,
            "in_force": asked.budget.context_window,
            "history": answering.limits.history,
        },
    }
    window, tools = _with_marks(window, answering)
    answer = window_answer(
        window,
        wire=request.wire,
        tools=tools,
        preflight=preflight_json(given.judged.found) if given.judged else None,
        utilization=utilization,
        standing=answering.prepared or standing,
        shadow=answering.shadow,
    )
    return Response(answer, media_type="application/json")


def _with_tools_left_out(window: Window, given: ParsedRequest) -> Window:
    """List the omitted tools, so that no omission is silent."""
    left_out = tool_exclusions(given.chosen)
    if not left_out and not given.chosen.losses:
        return window
    certificate = window.certificate
    certificate = replace(
        certificate,
        excluded=(*certificate.excluded, *left_out),
        losses=(*certificate.losses, *given.chosen.losses),
    )
    return replace(window, certificate=certificate)


def _with_marks(window: Window, answering: ResponseInputs) -> tuple[Window, list[JsonObject] | None]:
    """Mark the beginning shared with the next request, in a format with cache marks, unless marks are off."""
    request, tools = answering.request, answering.given.chosen.tools or None
    if request.wire is not Wire.ANTHROPIC or not api_settings().cache_marks:
        return window, tools
    tokens: Counter[str] = Counter()
    for block in window.certificate.blocks:
        tokens[block.source] += block.tokens
    before = sum(tokens[part] for part in ("system_prompt", "tools", "summary", "history"))
    passing = tokens["artifact"] + tokens["recall"] + tokens["user_recall"]
    prefix = Prefix(
        tokens["tools"],
        before,
        window.certificate.input_tokens,
        goes_on=answering.asked.goes_on or not passing,
    )
    items, tools = place_marks(window.items, tools, prefix, cache_rule(request.model))
    return replace(window, items=items), tools
