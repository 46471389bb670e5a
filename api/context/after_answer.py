"""After an answer: hints to the background, and the served window kept."""

import random
from dataclasses import replace
from uuid import UUID

import structlog
from fastapi import Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask, BackgroundTasks

from api.context.activation import RequestSize, wants_work
from api.context.fill import FilledWindow
from models.conversations.served_window import NewWindow, keep_window
from models.conversations.session import remember_request
from models.conversations.settings import served_window_settings
from models.conversations.standing import SessionSnapshot
from models.due_work.queue import WorkKind, enqueue
from models.encryption.keys import TextUnavailableError
from models.erasure.kept_receipts import receipt_digest
from models.scope import Scope
from models.tenants.row_security import keep_to

log = structlog.get_logger()


def learn_request(tenant_id: UUID, standing: SessionSnapshot, asked: RequestSize) -> None:
    """Store the request's size beside history, and queue a summary under pressure.

    Both are hints for the background: the answer does not depend on either, and the next read repeats both.
    """
    session, budget = standing.session, asked.budget
    limit = session.usual_budget.after(budget.input_limit, session.last_seq)
    window = usual = replace(session.usual_window, tokens=session.context_window)
    if budget.named_window is not None:
        window = session.usual_window.after(budget.named_window)
        window = replace(window, tokens=session.context_window) if window.narrow_reads else window
    beside = (session.system_tokens, session.tools_tokens, session.max_tokens)
    seen = (*beside, usual, session.usual_budget, session.asked_model)
    now = (asked.system_tokens, asked.tools_tokens, budget.max_tokens, window, limit, asked.model)
    pressing = wants_work(standing, asked)
    if seen == now and not pressing:
        return
    try:
        with Scope.best_effort(tenant_id) as scope:
            if seen != now:
                remember_request(
                    scope,
                    session,
                    model=asked.model,
                    window=window,
                    usual=limit,
                    system_tokens=asked.system_tokens,
                    tools_tokens=asked.tools_tokens,
                    max_tokens=budget.max_tokens,
                )
            if pressing:
                enqueue(scope, WorkKind.SUMMARIZE, session.session_id)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=session.session_id, error=type(error).__name__)


def keep_afterwards(answer: Response, filled: FilledWindow, *, call: str) -> None:
    """Add the keeping of a window to an answer's later tasks, if the request belongs to the sample."""
    if random.random() >= served_window_settings().served_window_share:  # noqa: S311 - a sample
        return
    new = _new_window(answer, filled, call)
    present = answer.background
    later = BackgroundTasks(present.tasks if isinstance(present, BackgroundTasks) else [])
    if isinstance(present, BackgroundTask) and not isinstance(present, BackgroundTasks):
        later.tasks.append(present)
    later.add_task(_keep, filled.prepared.tenant_id, new)
    answer.background = later


def _new_window(answer: Response, filled: FilledWindow, call: str) -> NewWindow:
    prepared, window = filled.prepared, filled.window
    standing, request = prepared.standing, prepared.request
    recalled = window.user_recalled.blocks if window.user_recalled else ()
    artifacts = {artifact.artifact_id for artifact in filled.shelving.artifacts}
    return NewWindow(
        session_id=prepared.loaded.session_id,
        generation=standing.session.generation if standing else None,
        call=call,
        user_id=request.user_id,
        model=request.model,
        wire=request.wire.value,
        after_seq=standing.session.last_seq if standing else 0,
        input_tokens=window.certificate.input_tokens,
        budget=window.certificate.budget,
        sources={*artifacts, *(block.session for block in recalled if block.session)},
        body=bytes(answer.body),
    )


def _keep(tenant_id: UUID, new: NewWindow) -> None:
    """Keep a window as a hint; a session changed or erased since the read keeps nothing."""
    keep_to(tenant_id)
    erased = receipt_digest(tenant_id, "session", new.session_id)
    try:
        with Scope.best_effort(tenant_id) as scope:
            keep_window(scope, new, served_window_settings(), erased_sha256=erased)
    except (SQLAlchemyError, TextUnavailableError) as error:
        log.warning("hint_lost", session_id=new.session_id, error=type(error).__name__)
