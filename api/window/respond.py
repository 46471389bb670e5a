"""Write a window down as an answer, with what was used of it and why."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from fastapi import Response

from api.preflight_calls import preflight_json
from api.window.account import artifact_members, tool_exclusions, tool_members
from api.window.activation import Asked, cache_report
from api.window.answers import utilization_of, window_answer
from api.window.gather import Filled
from api.window.request import ContextRequest, Given, Limits
from context.activation import Activation
from context.assemble import Window
from models.freshness import Standing


@dataclass(frozen=True)
class Answering:
    """What an answer is written from.

    Attributes:
        tenant_id: Who asks.
        request: What was asked.
        given: The same, read, with what was chosen for it.
        filled: The window.
        standing: How the session stands; None where it is not stored.
        asked: What the request spends beside history.
        limits: What bounds its window beside what was asked.
        activation: Why the summary took effect now; None where none did.
        prepared: How the session stands in truth, where a part of it is in shadow; else the same.
        shadow: What the answer says of shadow mode; None where nothing is in it.
    """

    tenant_id: UUID
    request: ContextRequest
    given: Given
    filled: Filled
    standing: Standing | None
    asked: Asked
    limits: Limits
    activation: Activation | None = None
    prepared: Standing | None = None
    shadow: Mapping[str, Any] | None = None


def respond(answering: Answering) -> Response:
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
        "cache": cache_report(standing, asked, window.certificate, answering.activation),
        "limits": {
            "asked": request.context_window,
            "learned": answering.limits.learned,
            "in_force": asked.budget.context_window,
            "history": answering.limits.history,
        },
    }
    answer = window_answer(
        window,
        wire=request.wire,
        tools=given.chosen.tools or None,
        preflight=preflight_json(given.judged.found) if given.judged else None,
        utilization=utilization,
        standing=answering.prepared or standing,
        shadow=answering.shadow,
    )
    return Response(answer, media_type="application/json")


def _with_tools_left_out(window: Window, given: Given) -> Window:
    """Name the tools that the request does not carry: nothing is left out in silence."""
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
