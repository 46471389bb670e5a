"""Shadow mode over HTTP: the report, and a probe for given facts in a window."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID, uuid4

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.sessions import ShadowAnswer, TrialAnswer
from api.context.full_history import find_new_part, stand_under
from api.context.request import ContextRequest, budget_of, find_limits, read_request, with_known_window
from api.context.respond import certificate_members
from api.http.call import BodyCall, Parameters, SessionId, documented
from api.http.errors import committed, not_found
from api.shadow.record import BuiltWindow, VariantQuery, lay_trials, lay_window, numbers_of, shadow_parts
from context.shadow.facts import holds
from context.shadow.verdict import EVERY_PART, PartReport, ShadowPart, applied_beside, trials
from context.types import Share
from models.conversations.standing import find_standing
from models.database import read_transaction
from models.shadow.reads import ReadState, record_reads, report_shadow, shadow_settings

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
    with read_transaction() as db:
        reports = report_shadow(
            db, tenant_id, since=timedelta(days=wanted.days), limits=shadow_settings().limits
        )
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
    asking = _asking(tenant_id, session_id, asked)
    served = lay_window(asking, applied_beside(tried))
    laid = lay_trials(asking, trials(tried))
    held = holds(served.history, asked.facts)
    planted = _planted(asking, served, laid, asked.facts)
    committed(lambda db: record_reads(db, tenant_id, planted))
    answer = {
        "tried": sorted(tried),
        "served": {**_window(served), "held": held},
        "would_be": {
            name: {**_window(one), "held": holds(one.history, asked.facts)} for name, one in laid.items()
        },
    }
    return Response(orjson.dumps(answer), media_type="application/json")


def _asking(tenant_id: UUID, session_id: str, request: ProbeRequest) -> VariantQuery:
    part = find_new_part(tenant_id, session_id, request)
    request = part.request
    with read_transaction() as db:
        standing = find_standing(db, tenant_id, session_id, request.model)
        limits = find_limits(db, tenant_id, request.model, session_id, standing)
    if standing is None:
        raise not_found("session")
    request = with_known_window(tenant_id, request, standing)
    given, budget = read_request(request), budget_of(request, limits)
    under = stand_under(tenant_id, standing, request=request, new=given.new, budget=budget)
    return VariantQuery(tenant_id, session_id, request, given, part.before(under), limits)


def _window(laid: BuiltWindow) -> dict[str, Any]:
    hidden = len(laid.hidden)
    certificate = certificate_members(laid.filled.window.certificate)
    return {"tools": len(laid.given.chosen.tools or ()), "hidden_tools": hidden, "certificate": certificate}


def _planted(
    asking: VariantQuery, served: BuiltWindow, laid: dict[str, BuiltWindow], facts: Sequence[str]
) -> list[dict[str, Any]]:
    """Build the records of a probe, judged at once since the needed facts are known; without a session."""
    read_id = uuid4()
    needed = [fact for fact, held in zip(facts, holds(served.history, facts), strict=True) if held]
    session = asking.standing.session if asking.standing else None
    return [
        {
            "read_id": read_id,
            "part": name,
            "session_id": None,
            "generation": session.generation if session else 1,
            "after_seq": session.last_seq if session else 0,
            "new_messages": len(asking.given.new),
            "model": asking.request.model,
            "planted": True,
            "served_tokens": served.filled.window.certificate.input_tokens,
            "would_tokens": one.filled.window.certificate.input_tokens,
            "served": numbers_of(served),
            "would": numbers_of(one),
            "hidden_tools": len(set(one.hidden) - set(served.hidden)),
            "state": ReadState.JUDGED,
            "judged_at": asking.standing.now if asking.standing else None,
            "needed": len(needed),
            "lost": holds(one.history, needed).count(False),
        }
        for name, one in laid.items()
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
