"""Answer to a context request: the window as sent, its certificate, usage and reasons."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from fastapi import Response
from sqlalchemy.dialects.postgresql import Range

from api.context.activation import cache_report
from api.context.fill import FilledWindow
from api.context.recall import recall_report
from api.context.reported_usage import shares
from api.context.request import ContextRequest, ParsedRequest
from api.context.session_request import PreparedRequest
from api.context.usage_report import artifact_members, tool_exclusions, tool_members
from api.http.values import encode
from api.preflight.routes import preflight_json
from api.settings import api_settings
from context.certificate import Certificate
from context.providers.prompt_cache import cache_rule
from context.shape.rule_names import MARK, ShapeRule, few_tool_marks
from context.shape.target import target_of
from context.text.sanitize import CLEANED
from context.tokens import family_of
from context.tokens.budget import Budget
from context.types import JsonObject, Wire
from context.window.activation import Activation
from context.window.assemble import Window
from context.window.cache_marks import Prefix, place_marks
from context.wire.formats import format_of
from models.conversations.session_state import SessionState
from models.conversations.standing import SessionSnapshot
from models.learning.cache_found import Expectation

_STRATEGIC = ("compaction", "summary", "history", "artifact")
_CERTIFICATE = tuple(Certificate.__dataclass_fields__)


def window_answer(
    window: Window,
    *,
    wire: Wire,
    tools: list[JsonObject] | None,
    preflight: dict[str, Any] | None,
    utilization: dict[str, Any],
    standing: SessionSnapshot | None,
    shadow: Mapping[str, Any] | None = None,
) -> bytes:
    """Write the answer; the messages' text goes out unread."""
    answer: dict[str, Any] = {
        "messages": [orjson.Fragment(item) for item in window.items],
        "tools": orjson.Fragment(encode(tools)),
        "preflight": preflight,
        "utilization": utilization,
        "certificate": certificate_members(window.certificate),
        "freshness": freshness(standing),
    }
    if format_of(wire).has_system_apart:
        answer["system"] = window.system
    if shadow is not None:
        answer["shadow"] = shadow
    return orjson.dumps(answer)


def certificate_members(certificate: Certificate) -> dict[str, Any]:
    """Write the certificate as answered, with `fits`."""
    return {"fits": certificate.fits, **{name: getattr(certificate, name) for name in _CERTIFICATE}}


def utilization_of(
    window: Window, standing: SessionSnapshot | None, budget: Budget, *, model: str, goal: str | None
) -> dict[str, Any]:
    """Report strategy, tokens and their breakdown by region."""
    certificate = window.certificate
    breakdown: dict[str, int] = {}
    for block in certificate.blocks:
        breakdown[block.source] = breakdown.get(block.source, 0) + block.tokens
    of_user = {"user_recall": recall_report(window.user_recalled)} if window.user_recalled else {}
    return {
        "model_name": model,
        "model_family": family_of(model),
        "strategy": _strategy(certificate),
        "tokens": {
            "input": certificate.input_tokens,
            "estimated": window.estimated_tokens,
            "budget": certificate.budget,
            "available": certificate.budget - certificate.input_tokens,
            "raw_history": standing.session.history_tokens if standing else 0,
        },
        "messages": len(window.items),
        "breakdown": breakdown,
        "calibration": {
            "factor": round(window.calibration.factor, 4),
            "observations": window.calibration.observations,
        },
        "recall": recall_report(window.recalled),
        **of_user,
        "goal": goal,
        "assumed": list(budget.assumed),
    }


def _strategy(certificate: Certificate) -> str:
    parts = [block.source for block in certificate.blocks if block.source in _STRATEGIC]
    return "+".join(parts) or "new-message-only"


def freshness(standing: SessionSnapshot | None) -> dict[str, Any]:
    """How far the preparation has come."""
    if standing is None:
        return {
            "last_seq": 0,
            "summarized_through": 0,
            "pending": 0,
            "oldest_due_age_s": None,
            "summary_by": None,
            "stands_in": False,
        }
    return {
        "last_seq": standing.session.last_seq,
        "summarized_through": standing.session.summarized_seq,
        "pending": standing.pending,
        "oldest_due_age_s": standing.oldest_due_age_s,
        "summary_by": standing.summary.model if standing.summary else None,
        "stands_in": standing.summary is not None and standing.summary.stands_in,
    }


def respond(
    filled: FilledWindow, activation: Activation | None = None, *, shadow: Mapping[str, Any] | None = None
) -> Response:
    """Write a window down as an answer.

    Args:
        filled: The window.
        activation: Reason for the summary's activation now; None without an activation.
        shadow: The answer's section on shadow mode; None without shadow parts.
    """
    prepared = filled.prepared
    tenant_id, request, given = prepared.tenant_id, prepared.request, prepared.given
    standing, size, shelving = prepared.standing, prepared.size, filled.shelving
    window = _with_tools_left_out(filled.window, given, explain=request.explain)
    utilization = {
        **utilization_of(window, standing, size.budget, model=request.model, goal=request.focus),
        **artifact_members(tenant_id, shelving, window.shelved, model=request.model),
        "tools": tool_members(given.chosen, explain=request.explain),
        "cache": {
            **cache_report(standing, size, filled.forecast, activation),
            "found_share": round(shares.find(tenant_id, request.model).share, 4),
            "in_place": list(filled.inputs.in_place),
            "behind_history": [one.artifact.artifact_id for one in window.shelved.execution.used],
        },
        "limits": {
            "asked": request.context_window,
            "learned": prepared.loaded.limits.learned,
            "in_force": size.budget.context_window,
            "history": prepared.loaded.limits.history,
        },
    }
    if request.was_cleaned:
        certificate = window.certificate
        repaired = replace(certificate, repairs=(*certificate.repairs, f"request: {CLEANED}"))
        window = replace(window, certificate=repaired)
    window, tools = _with_marks(window, prepared)
    answer = window_answer(
        window,
        wire=request.wire,
        tools=tools,
        preflight=preflight_json(given.judged.found) if given.judged else None,
        utilization=utilization,
        standing=prepared.loaded.standing,
        shadow=shadow,
    )
    return Response(answer, media_type="application/json")


def expectation_of(filled: FilledWindow) -> Expectation | None:
    """Write down what the provider should find, for the turn's report; None for an unstored session."""
    standing = filled.prepared.standing
    if standing is None:
        return None
    return Expectation(
        standing.session.session_id,
        standing.session.last_seq,
        filled.prepared.request.model,
        filled.window.certificate.input_tokens,
        filled.forecast.expected_tokens,
        as_of=standing.now,
        is_anew=filled.shelving.is_anew,
        hidden=_hidden(standing.session, filled),
        bare_from=filled.bare_from,
    )


def _hidden(session: SessionState, filled: FilledWindow) -> Range[int] | None:
    """Name the raw messages that the next window hides too; None where nothing is new."""
    size, shown = filled.prepared.size, filled.window.first_seq
    first, raw_from = shown or session.last_seq + 1, session.tail_from + 1
    is_smaller = size.budget.is_narrowed or size.budget.context_window < size.lasting.context_window
    if is_smaller or first == max(session.shown_from, raw_from):
        return None
    return Range(raw_from, first) if first > raw_from else Range(empty=True)


def _with_tools_left_out(window: Window, given: ParsedRequest, *, explain: bool) -> Window:
    """List the omitted tools, so that no omission is silent."""
    left_out = tool_exclusions(given.chosen, explain=explain)
    if not left_out and not given.chosen.losses:
        return window
    certificate = window.certificate
    certificate = replace(
        certificate,
        excluded=(*certificate.excluded, *left_out),
        losses=(*certificate.losses, *given.chosen.losses),
    )
    return replace(window, certificate=certificate)


def _with_marks(window: Window, prepared: PreparedRequest) -> tuple[Window, list[JsonObject] | None]:
    """Mark the beginning shared with the next request, in a format with cache marks, unless marks are off."""
    request, tools = prepared.request, prepared.given.chosen.tools or None
    if tools:
        window, tools = _with_few_tool_marks(window, tools, request)
    if not format_of(request.wire).has_cache_marks or not api_settings().cache_marks:
        return window, tools
    tokens: Counter[str] = Counter()
    for block in window.certificate.blocks:
        tokens[block.source] += block.tokens
    before = sum(tokens[part] for part in ("system_prompt", "tools", "compaction", "summary", "history"))
    passing = tokens["artifact"] + tokens["recall"] + tokens["user_recall"]
    prefix = Prefix(
        tokens["tools"],
        before,
        window.certificate.input_tokens,
        goes_on=prepared.size.goes_on or not passing,
    )
    items, tools = place_marks(window.items, tools, prefix, cache_rule(request.model))
    return replace(window, items=items), tools


def _with_few_tool_marks(
    window: Window, tools: list[JsonObject], request: ContextRequest
) -> tuple[Window, list[JsonObject]]:
    """Leave out marks of tools above the provider's limit, and name the rule in the certificate."""
    if MARK.encode() not in encode(tools):
        return window, tools
    few = few_tool_marks(tools, takes_marks=target_of(request.wire, request.model).takes_marks)
    if all(a is b for a, b in zip(few, tools, strict=True)):
        return window, tools
    shape = window.certificate.accepted_shape
    shape = replace(shape, rules=tuple(sorted({*shape.rules, ShapeRule.CACHE_MARKS})))
    return replace(window, certificate=replace(window.certificate, accepted_shape=shape)), few
