"""Learning from reported usage after an accepted turn, and cached calibrations for contexts."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask

from api.context.cache import LessonCache
from context.providers.usage import measure_growth, model_key, read_report
from context.tokens import guarantee, observe
from models.conversations.compactions import load_compactions
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.session import find_session
from models.conversations.session_state import SessionState
from models.database import read_transaction, transaction
from models.providers.calibration import find_calibration, keep_calibration, load_reported_turns
from models.tenants.call_role import keep_to

log = structlog.get_logger()

SETTLED_OBSERVATIONS = 100
"""Observations until a model is settled; a settled model's reports are sampled."""


calibrations = LessonCache(find_calibration, lambda one: one.observations >= SETTLED_OBSERVATIONS)
"""Calibrations; uncalibrated for a model without reports."""


@dataclass(frozen=True)
class _ReportedTurn:
    """A turn with a report to learn from."""

    session_id: str
    model: str
    turn_index: int


def learning(tenant_id: UUID, stored: Iterable[tuple[NewTurn, AcceptedTurn]]) -> BackgroundTask | None:
    """Build the task of learning from reports after the answer; a lost report is harmless.

    Args:
        tenant_id: The turns' tenant.
        stored: Accepted turns; the newest report of a session is compared with earlier reports.

    Returns:
        The response's background task; None without anything to learn.
    """
    lessons = {
        accepted.session_id: _ReportedTurn(accepted.session_id, turn.model, accepted.turn_index)
        for turn, accepted in stored
        if turn.usage and turn.model and not accepted.duplicate and accepted.turn_index > 1
        if read_report(turn.usage) and not calibrations.is_sampled_out(tenant_id, turn.model)
    }
    return BackgroundTask(_learn_all, tenant_id, list(lessons.values())) if lessons else None


def _learn_all(tenant_id: UUID, lessons: list[_ReportedTurn]) -> None:
    keep_to(tenant_id)
    for lesson in lessons:
        try:
            _learn(tenant_id, lesson)
        except SQLAlchemyError as error:
            log.warning("calibration_failed", session_id=lesson.session_id, error=type(error).__name__)
            return


def _learn(tenant_id: UUID, lesson: _ReportedTurn) -> None:
    with read_transaction() as db:
        session = find_session(db, tenant_id, lesson.session_id)
        if session is None or _leaves_out(session, lesson.model):
            return
        if load_compactions(db, tenant_id, lesson.session_id, after_seq=session.start_seq):
            return
        turns = load_reported_turns(
            db, tenant_id, lesson.session_id, lesson.turn_index, served=session.max_tokens is not None
        )
        growth = measure_growth(turns)
        if growth is None:
            return
        seen = find_calibration(db, tenant_id, lesson.model)
    learned = observe(
        seen,
        model=model_key(lesson.model),
        estimated=growth.estimated,
        reported=growth.reported,
        reports=growth.reports,
    )
    with transaction() as db:
        kept = keep_calibration(db, tenant_id, seen, learned)
    if kept:
        calibrations.keep(tenant_id, lesson.model, learned, learned_at=time.monotonic())


def _leaves_out(session: SessionState, model: str) -> bool:
    """Tell whether a window may lack a part of the history: reports then do not grow with the history."""
    load, budget = session.load, session.budget
    history = guarantee(load.raw_tokens + load.summary_tokens, model)
    if budget.history_room(history) < history:
        return True
    if session.context_window is None:
        return False
    return guarantee(load.input_tokens, model) > budget.input_tokens
