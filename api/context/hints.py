"""Hints from a context request to the background, without effect on the answer."""

from dataclasses import replace
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.context.activation import RequestSize, wants_work
from models.conversations.session import remember_request
from models.conversations.standing import SessionSnapshot
from models.database import best_effort_transaction
from models.due_work.queue import WorkKind, enqueue

log = structlog.get_logger()


def learn_request(tenant_id: UUID, standing: SessionSnapshot, asked: RequestSize) -> None:
    """Store the request's size beside history, and queue a summary under pressure.

    Both are hints for the background: the answer does not depend on either, and the next read repeats both.
    """
    session, budget = standing.session, asked.budget
    window = usual = replace(session.usual_window, tokens=session.context_window)
    if budget.named_window is not None:
        window = session.usual_window.after(budget.named_window)
        window = replace(window, tokens=session.context_window) if window.narrow_reads else window
    seen = (session.system_tokens, session.tools_tokens, session.max_tokens, usual, session.asked_model)
    now = (asked.system_tokens, asked.tools_tokens, budget.max_tokens, window, asked.model)
    pressing = wants_work(standing, asked)
    if seen == now and not pressing:
        return
    try:
        with best_effort_transaction() as db:
            if seen != now:
                remember_request(
                    db,
                    tenant_id,
                    session,
                    model=asked.model,
                    window=window,
                    system_tokens=asked.system_tokens,
                    tools_tokens=asked.tools_tokens,
                    max_tokens=budget.max_tokens,
                )
            if pressing:
                enqueue(db, tenant_id, WorkKind.SUMMARIZE, session.session_id)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=session.session_id, error=type(error).__name__)
