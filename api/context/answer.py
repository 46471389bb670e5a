"""Answer to a context request: the window as sent, its certificate, and freshness."""

from collections.abc import Mapping
from typing import Any

import orjson

from api.context.recall import recall_report
from api.http.values import encode
from context.certificate import Certificate
from context.tokens import family_of
from context.tokens.budget import Budget
from context.types import JsonObject, Wire
from context.window.assemble import Window
from context.wire.formats import format_of
from models.conversations.standing import SessionSnapshot

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
