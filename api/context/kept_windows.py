"""Keeping of served windows, after the answer."""

import random
from uuid import UUID

import structlog
from fastapi import Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask, BackgroundTasks

from api.context.respond import ResponseInputs
from models.conversations.served_window import NewWindow, keep_window, served_window_settings
from models.database import best_effort_transaction
from models.encryption.keys import TextUnavailableError
from models.erasure.kept_receipts import receipt_digest
from models.tenants.call_role import keep_to

log = structlog.get_logger()


def keep_afterwards(answer: Response, session_id: str, answering: ResponseInputs, *, call: str) -> None:
    """Add the keeping of a window to an answer's later tasks, if the request belongs to the sample."""
    if random.random() >= served_window_settings().served_window_share:  # noqa: S311 - a sample
        return
    new = _new_window(answer, session_id, answering, call)
    present = answer.background
    later = BackgroundTasks(present.tasks if isinstance(present, BackgroundTasks) else [])
    if isinstance(present, BackgroundTask) and not isinstance(present, BackgroundTasks):
        later.tasks.append(present)
    later.add_task(_keep, answering.tenant_id, new)
    answer.background = later


def _new_window(answer: Response, session_id: str, answering: ResponseInputs, call: str) -> NewWindow:
    standing, window, request = answering.standing, answering.filled.window, answering.request
    recalled = window.user_recalled.blocks if window.user_recalled else ()
    artifacts = {artifact.artifact_id for artifact in answering.filled.shelving.artifacts}
    return NewWindow(
        session_id=session_id,
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
        with best_effort_transaction() as db:
            keep_window(db, tenant_id, new, served_window_settings(), erased_sha256=erased)
    except (SQLAlchemyError, TextUnavailableError) as error:
        log.warning("hint_lost", session_id=new.session_id, error=type(error).__name__)
