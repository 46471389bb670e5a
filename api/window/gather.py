"""Read what there is of a session and build the window of a request."""

from dataclasses import replace
from uuid import UUID

from api.window.calibration import calibrations
from api.window.recall import recall
from api.window.request import ContextRequest, Given
from api.window.tails import notes_of, read_tail
from context.assemble import Unread, Window, WindowRequest, build_messages
from context.budget import Budget
from context.emergency import certify_left_out
from context.recall.question import find_question
from context.types import Message
from models.freshness import Standing
from models.session import reading


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
