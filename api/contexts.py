"""The context of the next request: what fits, and the proof."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import structlog
from fastapi import APIRouter, Response
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError

from api.activation import Asked, cache_report, settle, wants_work
from api.answers import utilization_of, window_answer
from api.calibration import calibrations
from api.call import Body, BodyCall, SessionId, documented
from api.intake import MAX_WINDOW, MIN_WINDOW, read_messages
from api.recall import recall
from api.settings import api_settings
from api.tails import count_request_tools, notes_of, read_tail, system_message
from context.activation import Activation
from context.assemble import Unread, Window, WindowRequest, build_messages
from context.budget import Budget, choose_budget
from context.certificate import Exclusion
from context.emergency import certify_left_out
from context.recall.question import find_question
from context.tokens import ToolsCount
from context.tokens.tools import TOOLS_OVERHEAD
from context.types import JsonObject, Message, Wire
from models.conversation import remember_request
from models.freshness import Standing, find_standing
from models.limit import find_limit
from models.session import hinting, reading
from models.work import DueWork, WorkKind, WorkState, find_work, want

log = structlog.get_logger()
router = APIRouter(prefix="/v1", tags=["context"])

POLL_S = 0.02
_PENDING = (WorkState.READY, WorkState.RUNNING)


class ContextRequest(Body):
    """The request that is about to be sent to a model, as far as the platform knows it."""

    model: str = Field(min_length=1, max_length=200, description="The model that will answer.")
    context_window: int | None = Field(
        None, ge=MIN_WINDOW, le=MAX_WINDOW, description="Its window, in tokens."
    )
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
    given = read_request(request)
    if request.wait_ms:
        wait_for_work(caller.tenant_id, session_id, request.wait_ms)
    with reading() as db:
        standing = find_standing(db, caller.tenant_id, session_id, request.model)
        limit = standing.learned_limit if standing else find_limit(db, caller.tenant_id, request.model)
    asked = ask(request, given, limit)
    standing, activation = settle(caller.tenant_id, standing, asked) if standing else (None, None)
    window = fill_window(caller.tenant_id, request, given, standing, asked.budget)
    if standing:
        _learn(caller.tenant_id, standing, asked)
    return respond(request, window, standing, asked, learned_limit=limit, activation=activation)


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


@dataclass(frozen=True)
class Given:
    """What a request brings, read and counted."""

    new: list[Message]
    system: Message | None
    tools: ToolsCount

    @property
    def tools_tokens(self) -> int:
        """The canonical count of the tool definitions."""
        return self.tools.tokens + TOOLS_OVERHEAD if self.tools.tools else 0


def read_request(request: ContextRequest) -> Given:
    """Read what a request brings.

    Raises:
        AfterturnError: One of its messages can never be sent, or its output limit leaves no room.
    """
    budget_of(request, None)
    new = read_messages(request.messages, request.wire)
    return Given(new, system_message(request.system_prompt), count_request_tools(request.tools))


def budget_of(request: ContextRequest, learned_limit: int | None) -> Budget:
    """Settle the budget, within what the model is known to take."""
    return choose_budget(
        request.context_window,
        request.max_tokens,
        ceiling=learned_limit,
        input_limit=request.budget,
    )


def ask(request: ContextRequest, given: Given, learned_limit: int | None) -> Asked:
    """Say what the request spends beside history."""
    return Asked(
        request.model,
        budget_of(request, learned_limit),
        given.system.tokens if given.system else 0,
        given.tools_tokens,
        sum(message.tokens for message in given.new),
    )


def fill_window(
    tenant_id: UUID, request: ContextRequest, given: Given, standing: Standing | None, budget: Budget
) -> Window:
    """Read what there is of history and build the window."""
    window = build_messages(gather(tenant_id, request, given, standing, budget))
    left_out = standing.session.left_out if standing else None
    if left_out is None:
        return window
    return replace(window, certificate=certify_left_out(window.certificate, left_out))


def gather(
    tenant_id: UUID, request: ContextRequest, given: Given, standing: Standing | None, budget: Budget
) -> WindowRequest:
    """Read what there is of history, and what of older turns bears on the new messages."""
    tail: list[Message] = []
    unread: Unread | None = None
    if standing:
        with reading() as db:
            tail, unread = read_tail(db, tenant_id, standing, request.model, budget)
    recalled = recall(tenant_id, standing.session, find_question(given.new, tail), budget) if standing else ()
    return WindowRequest(
        model=request.model,
        budget=budget,
        new=given.new,
        tail=tail,
        system=given.system,
        tools=given.tools,
        notes=notes_of(standing),
        recall=recalled,
        unread=unread,
        wire=request.wire,
        calibration=calibrations.find(tenant_id, request.model),
    )


def _learn(tenant_id: UUID, standing: Standing, asked: Asked) -> None:
    """Remember what this request spends beside history, and ask for a summary where it presses.

    Both are hints for the background: the answer does not depend on them, and the next read leaves them anew.
    """
    session, budget = standing.session, asked.budget
    window = session.context_window if "context_window" in budget.assumed else budget.used_window
    seen = (session.system_tokens, session.tools_tokens, session.max_tokens, session.context_window)
    now = (asked.system_tokens, asked.tools_tokens, budget.max_tokens, window)
    pressing = wants_work(standing, asked)
    if seen == now and not pressing:
        return
    try:
        with hinting() as db:
            if seen != now:
                remember_request(
                    db,
                    tenant_id,
                    session,
                    model=asked.model,
                    context_window=window,
                    system_tokens=asked.system_tokens,
                    tools_tokens=asked.tools_tokens,
                    max_tokens=budget.max_tokens,
                )
            if pressing:
                want(db, tenant_id, WorkKind.SUMMARIZE, session.session_id)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=session.session_id, error=type(error).__name__)


def _rests(work: DueWork) -> bool:
    """Whether nobody can have the work done now, however long they wait."""
    return work.rests_until is not None and work.rests_until > datetime.now(UTC)


def wait_for_work(tenant_id: UUID, session_id: str, wait_ms: int) -> None:
    """Have pending work done now, and wait for it; the answer comes in time with or without it."""
    deadline = time.monotonic() + min(wait_ms, api_settings().max_wait_ms) / 1000
    with reading() as db:
        work = find_work(db, tenant_id, WorkKind.SUMMARIZE, session_id)
    if work is None or work.state not in _PENDING or _rests(work):
        return
    if work.state == WorkState.READY:
        # Running work is not asked for again: it would have to run once more.
        with suppress(SQLAlchemyError), hinting() as db:
            want(db, tenant_id, WorkKind.SUMMARIZE, session_id, awaited=True)
    while work is not None and work.state in _PENDING and (left_s := deadline - time.monotonic()) > 0:
        time.sleep(min(POLL_S, left_s))
        with reading() as db:
            work = find_work(db, tenant_id, WorkKind.SUMMARIZE, session_id)
