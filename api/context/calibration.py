"""Learning from reported usage after an accepted turn, and cached calibrations for contexts."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.background import BackgroundTask

from api.settings import api_settings
from context.providers.usage import measure_growth, model_key, read_report
from context.tokens import Calibration, guarantee, observe
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.session import find_session
from models.conversations.session_state import SessionState
from models.database import read_transaction, transaction
from models.providers.calibration import find_calibration, keep_calibration, load_reported_turns
from models.tenants.call_role import keep_to

log = structlog.get_logger()

SETTLED_OBSERVATIONS = 100
"""Observations until a model is settled; a settled model's reports are sampled."""


@dataclass(frozen=True)
class _Known:
    calibration: Calibration
    until: float
    learned_at: float = 0.0


class CalibrationCache:
    """Cache of calibrations per tenant and model, to save a query per read."""

    def __init__(self, most: int = 10_000) -> None:
        """Limit the number of cached models."""
        self._known: dict[tuple[UUID, str], _Known] = {}
        self._most = most
        self._lock = Lock()

    def find(self, tenant_id: UUID, model: str) -> Calibration:
        """Find a model's calibration; uncalibrated if none exists."""
        known = self._known.get((tenant_id, model_key(model)))
        if known is not None and time.monotonic() < known.until:
            return known.calibration
        with read_transaction() as db:
            calibration = find_calibration(db, tenant_id, model)
        self.keep(tenant_id, model, calibration, learned_at=known.learned_at if known else 0.0)
        return calibration

    def keep(self, tenant_id: UUID, model: str, calibration: Calibration, *, learned_at: float) -> None:
        """Cache a calibration, with the time of the last learned report."""
        until = time.monotonic() + api_settings().calibration_cache_s
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[tenant_id, model_key(model)] = _Known(calibration, until, learned_at)

    def is_sampled_out(self, tenant_id: UUID, model: str) -> bool:
        """Tell whether a settled model's report was learned recently."""
        known = self._known.get((tenant_id, model_key(model)))
        if known is None or known.calibration.observations < SETTLED_OBSERVATIONS:
            return False
        return time.monotonic() < known.learned_at + api_settings().calibration_settled_every_s


calibrations = CalibrationCache()


@dataclass(frozen=True)
class _Lesson:
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
        accepted.session_id: _Lesson(accepted.session_id, turn.model, accepted.turn_index)
        for turn, accepted in stored
        if turn.usage and turn.model and not accepted.duplicate and accepted.turn_index > 1
        if read_report(turn.usage) and not calibrations.is_sampled_out(tenant_id, turn.model)
    }
    return BackgroundTask(_learn_all, tenant_id, list(lessons.values())) if lessons else None


def _learn_all(tenant_id: UUID, lessons: list[_Lesson]) -> None:
    keep_to(tenant_id)
    for lesson in lessons:
        try:
            _learn(tenant_id, lesson)
        except SQLAlchemyError as error:
            log.warning("calibration_failed", session_id=lesson.session_id, error=type(error).__name__)
            return


def _learn(tenant_id: UUID, lesson: _Lesson) -> None:
    with read_transaction() as db:
        session = find_session(db, tenant_id, lesson.session_id)
        if session is None or _leaves_out(session, lesson.model):
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
