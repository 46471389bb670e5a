"""Hints after an answer: a lost hint is harmless."""

from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.preflight.decide import wants_labels
from models.artifacts.summary_cache import UseOfSummary
from models.due_work.queue import WorkKind, enqueue
from models.hints import Hints, leave_hints
from models.preflight.settings import preflight_settings
from models.scope import Scope
from models.tenants.row_security import keep_to

log = structlog.get_logger()


def leave(tenant_id: UUID, hints: Hints) -> list[UseOfSummary]:
    """Store the hints of an answer, and queue a model's labels for an unsure message; give up soon.

    Returns:
        The summaries shown; none if the hints were lost.
    """
    keep_to(tenant_id)
    try:
        with Scope.read(tenant_id) as scope:
            shown = leave_hints(scope, hints)
        if hints.session_id and hints.decision and wants_labels(hints.decision):
            delay_s = preflight_settings().preflight_relabel_delay_s
            with Scope.best_effort(tenant_id) as scope:
                enqueue(scope, WorkKind.RELABEL, hints.session_id, delay_s=delay_s)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=hints.session_id, error=type(error).__name__)
        return []
    return shown
