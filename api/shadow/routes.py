"""Shadow mode over HTTP: the report, and a probe for given facts in a window."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any
from uuid import uuid4

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.sessions import ShadowAnswer, TrialAnswer
from api.context.fill import FilledWindow
from api.context.full_history import find_new_part
from api.context.request import ContextRequest, read_request
from api.context.respond import certificate_members
from api.context.session_request import load_request
from api.http.call import BodyCall, Parameters, SessionId, documented
from api.http.errors import committed, not_found
from api.shadow.record import (
    hidden_tools,
    history_of,
    numbers_of,
    shadow_parts,
    try_variant,
    try_variants,
)
from context.shadow.facts import holds
from context.shadow.verdict import EVERY_PART, PartReport, ShadowPart, applied_beside, trials
from context.types import Share
from models.scope import Scope
from models.shadow.reads import ReadState, record_reads, report_shadow
from models.shadow.settings import shadow_settings

router = APIRouter(prefix="/v1", tags=["shadow"])

MOST_DAYS = 400
MOST_FACTS = 200


class ReportRange(Parameters):
    """Time range of a report."""

    days: int = Field(30, ge=1, le=MOST_DAYS, description="How many days back.")


class ProbeRequest(ContextRequest):
    """A context request with facts expected in the window."""

    facts: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        min_length=1, max_length=MOST_FACTS, description="Exact words that should be there."
    )
    parts: list[ShadowPart] | None = Field(
        None, min_length=1, description="What is tried; without it what is in shadow, or every part."
    )


@router.get("/shadow", **answers(ShadowAnswer, "get_shadow_report", "Get the report of shadow mode"))
def show_report(call: BodyCall, wanted: Annotated[ReportRange, Query()]) -> Response:
    """Answer with each shadow part's savings, losses and verdict."""
    tenant_id = call.caller("admin").tenant_id
    with Scope.read(tenant_id) as scope:
        reports = report_shadow(scope, since=timedelta(days=wanted.days), limits=shadow_settings().limits)
    in_shadow = shadow_parts(tenant_id)
    answer = {
        "days": wanted.days,
        "in_shadow": sorted(in_shadow),
        "parts": list(map(report_members, reports)),
    }
    return Response(orjson.dumps(answer), media_type="application/json")


@router.post(
    "/sessions/{session_id}/shadow",
    openapi_extra=documented(ProbeRequest),
    **answers(TrialAnswer, "try_parts", "Try windows with and without parts"),
)
def try_window(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with the facts held by a session's window, without and with the tried parts.

    The call has no effect on later windows. Facts held without the parts are counted as planted facts.
    """
    tenant_id = call.caller("admin").tenant_id
    asked = call.body(ProbeRequest)
    tried = frozenset(asked.parts or shadow_parts(tenant_id) or EVERY_PART)
    part = find_new_part(tenant_id, session_id, asked)
    loaded = load_request(tenant_id, session_id, part, read_request(part.request))
    if loaded.standing is None:
        raise not_found("session")
    served = try_variant(loaded, applied_beside(tried))
    would_be = try_variants(loaded, trials(tried))
    held = holds(history_of(served), asked.facts)
    planted = _planted(served, would_be, asked.facts)
    committed(tenant_id, lambda scope: record_reads(scope, planted))
    answer = {
        "tried": sorted(tried),
        "served": {**_window(served), "held": held},
        "would_be": {
            name: {**_window(one), "held": holds(history_of(one), asked.facts)}
            for name, one in would_be.items()
        },
    }
    return Response(orjson.dumps(answer), media_type="application/json")


def _window(filled: FilledWindow) -> dict[str, Any]:
    certificate = certificate_members(filled.window.certificate)
    sent = filled.prepared.given.chosen.tools or ()
    return {"tools": len(sent), "hidden_tools": len(hidden_tools(filled)), "certificate": certificate}


def _planted(
    served: FilledWindow, would_be: dict[str, FilledWindow], facts: Sequence[str]
) -> list[dict[str, Any]]:
    """Build the records of a probe, judged at once since the needed facts are known; without a session."""
    read_id = uuid4()
    needed = [fact for fact, held in zip(facts, holds(history_of(served), facts), strict=True) if held]
    loaded = served.prepared.loaded
    session = loaded.standing.session if loaded.standing else None
    return [
        {
            "read_id": read_id,
            "part": name,
            "session_id": None,
            "generation": session.generation if session else 1,
            "after_seq": session.last_seq if session else 0,
            "new_messages": len(loaded.parsed.new),
            "model": loaded.request.model,
            "planted": True,
            "served_tokens": served.window.certificate.input_tokens,
            "would_tokens": one.window.certificate.input_tokens,
            "served": numbers_of(served),
            "would": numbers_of(one),
            "hidden_tools": len(set(hidden_tools(one)) - set(hidden_tools(served))),
            "state": ReadState.JUDGED,
            "judged_at": loaded.standing.now if loaded.standing else None,
            "needed": len(needed),
            "lost": holds(history_of(one), needed).count(False),
        }
        for name, one in would_be.items()
    ]


def report_members(report: PartReport) -> dict[str, Any]:
    """Write a part's report; unknown values are null, never 0."""
    tally = report.tally
    all_unknown = tally.unpriced_reads == tally.reads and tally.reads > 0
    return {
        "part": tally.part,
        "reads": tally.reads,
        "judged": tally.judged,
        "sessions": tally.sessions,
        "served_tokens": tally.served_tokens,
        "would_be_tokens": tally.would_tokens,
        "saving": tally.saving,
        "facts": {"needed": tally.needed, "lost": tally.lost, **_share(report.lost)},
        "planted": {"needed": tally.planted, "lost": tally.planted_lost},
        "calls": {"made": tally.calls, "blocked": tally.blocked, **_share(report.blocked)},
        "saved_usd": None if all_unknown else float(tally.saved_usd),
        "unpriced_reads": tally.unpriced_reads,
        "switch_on": report.ready,
        "verdict": report.verdict,
    }


def _share(share: Share | None) -> dict[str, float | None]:
    return {
        "share": share.share if share else None,
        "low": share.low if share else None,
        "high": share.high if share else None,
    }
