"""Write a window down as an answer, with what was used of it and why."""

from dataclasses import replace

from fastapi import Response

from api.window.activation import Asked, cache_report
from api.window.answers import utilization_of, window_answer
from api.window.request import ContextRequest
from context.activation import Activation
from context.assemble import Window
from context.certificate import Exclusion
from models.freshness import Standing


def respond(
    request: ContextRequest,
    window: Window,
    standing: Standing | None,
    asked: Asked,
    *,
    learned_limit: int | None,
    activation: Activation | None = None,
) -> Response:
    """Write a window down as an answer."""
    window = _name_unread(request, window)
    utilization = {
        **utilization_of(window, standing, asked.budget, model=request.model, goal=request.focus),
        "cache": cache_report(standing, asked, window.certificate, activation),
        "limits": {
            "asked": request.context_window,
            "learned": learned_limit,
            "in_force": asked.budget.context_window,
        },
    }
    answer = window_answer(
        window, wire=request.wire, tools=request.tools, utilization=utilization, standing=standing
    )
    return Response(answer, media_type="application/json")


def _name_unread(request: ContextRequest, window: Window) -> Window:
    """Name what the request asks for and the window does not hold: nothing is left out in silence."""
    unread = [
        Exclusion(name, "not-supported-yet", None)
        for name in ("catalog", "attachments", "focus", "planner_model", "summarizer_model")
        if getattr(request, name)
    ]
    if not unread:
        return window
    certificate = window.certificate
    return replace(window, certificate=replace(certificate, excluded=(*certificate.excluded, *unread)))
