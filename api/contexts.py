"""The context of the next request: what fits, and the proof."""

import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.activation import Asked, cache_report, settle, wants_work
from api.call import Body, BodyCall, SessionId, documented
from api.intake import MAX_WINDOW, read_messages
from api.settings import api_settings
from context.assemble import Notes, Unread, Window, WindowRequest, build_messages, new_message
from context.budget import Budget, choose_budget
from context.tokens import count_tools, family_of
from context.types import JsonObject, Message, Role, Wire
from models.conversation import SessionState, remember_request
from models.freshness import Standing, find_standing
from models.history import load_newest
from models.session import reading, transaction
from models.work import WorkKind, want

router = APIRouter(prefix="/v1", tags=["context"])

MIN_READ, MAX_READ = 64, 2_000
POLL_S = 0.02


class ContextRequest(Body):
    """The request that is about to be sent to a model, as far as the platform knows it."""

    model: str = Field(min_length=1, max_length=200, description="The model that will answer.")
    context_window: int | None = Field(None, ge=1, le=MAX_WINDOW, description="Its window, in tokens.")
    max_tokens: int | None = Field(None, ge=1, le=MAX_WINDOW, description="The output limit.")
    system_prompt: str | None = Field(None, description="The platform's own instructions.")
    messages: list[JsonObject] = Field(min_length=1, description="The new message or messages.")
    tools: list[JsonObject] | None = Field(None, description="Tool definitions of the request.")
    catalog: str | None = Field(None, description="A stored catalog instead of `tools`.")
    attachments: list[JsonObject] | None = Field(None, description="Documents of the request.")
    focus: str | None = Field(None, max_length=2_000, description="What artifacts are read for.")
    budget: int | None = Field(None, ge=1, le=MAX_WINDOW, description="A lower limit of input tokens.")
    wire: Wire = Field(Wire.OPENAI, description="The format of `messages`, in and out.")
    wait_ms: int = Field(0, ge=0, description="How long to wait for work that is under way.")
    planner_model: str | None = Field(None, max_length=200, description="The model that plans.")
    summarizer_model: str | None = Field(None, max_length=200, description="The model that summarizes.")


@router.post("/sessions/{session_id}/context", openapi_extra=documented(ContextRequest))
def read_context(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with the newest summary in force and the raw turns after it, within the budget."""
    caller = call.caller("read")
    request = call.body(ContextRequest)
    budget = _budget(request)
    new = read_messages(request.messages, request.wire)
    system = _system(request)
    tools_tokens = count_tools(request.tools or [])
    if request.wait_ms:
        _wait_for_work(caller.tenant_id, session_id, request.wait_ms)
    asked = Asked(
        request.model,
        budget,
        system.tokens if system else 0,
        tools_tokens,
        sum(message.tokens for message in new),
    )
    with reading() as db:
        standing = find_standing(db, caller.tenant_id, session_id)
    standing, activation = settle(caller.tenant_id, standing, asked) if standing else (None, None)
    with reading() as db:
        tail, unread = _read_tail(db, caller.tenant_id, standing, budget) if standing else ([], None)
    window = build_messages(
        WindowRequest(
            model=request.model,
            budget=budget,
            new=new,
            tail=tail,
            system=system,
            tools_tokens=tools_tokens,
            notes=_notes(standing),
            unread=unread,
        )
    )
    if standing:
        _learn(caller.tenant_id, standing, asked)
    report = cache_report(standing, asked, window.certificate, activation)
    return Response(_answer(request, window, standing, report), media_type="application/json")


def _budget(request: ContextRequest) -> Budget:
    budget = choose_budget(request.context_window, request.max_tokens)
    if request.budget is None or request.budget >= budget.input_tokens:
        return budget
    return Budget(request.budget + budget.max_tokens, budget.max_tokens, budget.assumed)


def _system(request: ContextRequest) -> Message | None:
    if not request.system_prompt:
        return None
    return new_message({"role": "system", "content": request.system_prompt}, Role.SYSTEM)


def _notes(standing: Standing | None) -> Notes | None:
    summary = standing.summary if standing else None
    if summary is None:
        return None
    return Notes(summary.version, summary.from_seq, summary.to_seq, summary.text, summary.tokens)


def _read_tail(
    db: Any, tenant_id: UUID, standing: Standing, budget: Budget
) -> tuple[list[Message], Unread | None]:
    """Read raw messages from the newest back until they cannot fit any more; a bounded number of rows."""
    session = standing.session
    after, up_to = session.raw_from, session.last_seq
    tail: list[Message] = []
    most = _rows_to_fill(session, budget)
    while up_to > after and sum(message.tokens for message in tail) <= budget.input_tokens:
        part = load_newest(db, tenant_id, session.session_id, after_seq=after, up_to_seq=up_to, most=most)
        tail = part + tail
        up_to = part[0].seq - 1 if len(part) == most else after
    unread = Unread(after + 1, up_to) if up_to > after else None
    return tail, unread


def _rows_to_fill(session: SessionState, budget: Budget) -> int:
    """A little more than the budget takes, by the session's average."""
    average = max(session.raw_tokens / max(session.raw_messages, 1), 1)
    return min(max(int(budget.input_tokens / average * 1.3), MIN_READ), MAX_READ)


def _learn(tenant_id: UUID, standing: Standing, asked: Asked) -> None:
    """Remember what this request spends beside history, and ask for a summary where it presses.

    Both are hints for the background: the answer does not depend on them.
    """
    session = standing.session
    seen = (session.system_tokens, session.tools_tokens, session.max_tokens)
    now = (asked.system_tokens, asked.tools_tokens, asked.budget.max_tokens)
    pressing = wants_work(standing, asked)
    if seen == now and not pressing:
        return
    with transaction() as db:
        if seen != now:
            remember_request(
                db,
                tenant_id,
                session,
                system_tokens=asked.system_tokens,
                tools_tokens=asked.tools_tokens,
                max_tokens=asked.budget.max_tokens,
            )
        if pressing:
            want(db, tenant_id, WorkKind.SUMMARIZE, session.session_id)


def _wait_for_work(tenant_id: UUID, session_id: str, wait_ms: int) -> None:
    """Have pending work done now, and wait for it; the answer comes in time with or without it."""
    deadline = time.monotonic() + min(wait_ms, api_settings().max_wait_ms) / 1000
    asked = False
    while True:
        with reading() as db:
            standing = find_standing(db, tenant_id, session_id)
        if standing is None or standing.due_at is None or time.monotonic() >= deadline:
            return
        if not asked:
            with transaction() as db:
                want(db, tenant_id, WorkKind.SUMMARIZE, session_id, awaited=True)
            asked = True
        time.sleep(POLL_S)


def _answer(
    request: ContextRequest, window: Window, standing: Standing | None, cache: dict[str, Any]
) -> bytes:
    return orjson.dumps(
        {
            "messages": _bodies(window.messages),
            "tools": request.tools,
            "preflight": None,
            "utilization": {**_utilization(request, window, standing), "cache": cache},
            "certificate": _certificate(window),
            "freshness": freshness(standing),
        }
    )


def _bodies(messages: Sequence[Message]) -> list[orjson.Fragment]:
    """The messages as they were sent: their text goes out unread."""
    return [orjson.Fragment(message.raw) for message in messages]


def _certificate(window: Window) -> dict[str, Any]:
    certificate = window.certificate
    return {
        "fits": certificate.fits,
        "input_tokens": certificate.input_tokens,
        "budget": certificate.budget,
        "context_window": certificate.context_window,
        "max_tokens": certificate.max_tokens,
        "summary_covers": certificate.summary_covers,
        "tail": certificate.tail,
        "tail_contiguous": certificate.tail_contiguous,
        "tool_pairs_intact": certificate.tool_pairs_intact,
        "blocks": certificate.blocks,
        "excluded": certificate.excluded,
        "repairs": certificate.repairs,
    }


def _utilization(request: ContextRequest, window: Window, standing: Standing | None) -> dict[str, Any]:
    """The seed's metadata: strategy, tokens and their breakdown by region."""
    certificate = window.certificate
    breakdown: dict[str, int] = {}
    for block in certificate.blocks:
        breakdown[block.source] = breakdown.get(block.source, 0) + block.tokens
    raw = standing.session.history_tokens if standing else 0
    return {
        "model_name": request.model,
        "model_family": family_of(request.model),
        "strategy": _strategy(window),
        "tokens": {
            "input": certificate.input_tokens,
            "budget": certificate.budget,
            "available": certificate.budget - certificate.input_tokens,
            "raw_history": raw,
        },
        "messages": len(window.messages),
        "breakdown": breakdown,
        "goal": request.focus,
        "artifacts_processed": [],
        "llm_planning_used": False,
        "planning_cost": None,
        "cache_stats": None,
        "assumed": list(_budget(request).assumed),
    }


def _strategy(window: Window) -> str:
    parts = [block.source for block in window.certificate.blocks if block.source in ("summary", "history")]
    return "+".join(parts) or "new-message-only"


def freshness(standing: Standing | None) -> dict[str, Any]:
    """How far the preparation has come."""
    if standing is None:
        return {"last_seq": 0, "summarized_through": 0, "pending": 0, "oldest_due_age_s": None}
    return {
        "last_seq": standing.session.last_seq,
        "summarized_through": standing.session.summarized_seq,
        "pending": int(standing.due_at is not None),
        "oldest_due_age_s": standing.oldest_due_age_s,
    }
