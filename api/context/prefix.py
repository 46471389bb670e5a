"""Storing of a request's beginning, so that a summary can use the same prefix."""

from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.context.fill import FilledWindow, WindowQuery
from context.shadow.verdict import EVERY_PART
from context.window.prefix_reuse import prefix_of
from models.conversations.prefix import keep_prefix
from models.conversations.summary_settings import compression_settings
from models.database import best_effort_transaction
from models.tenants.call_role import keep_to

log = structlog.get_logger()


def may_be_ridden(sought: WindowQuery) -> bool:
    """Tell whether a summary can use the request's prefix: never after an emergency or in shadow mode."""
    session = sought.standing.session if sought.standing else None
    return (
        compression_settings().summarize_rides_prefix
        and session is not None
        and session.left_out is None
        and sought.applied == EVERY_PART
        and not sought.request.speakers
    )


def remember_prefix(tenant_id: UUID, sought: WindowQuery, filled: FilledWindow) -> None:
    """Store the request's beginning as a hint; without the hint, a summary is requested as usual."""
    session = sought.standing.session if sought.standing else None
    prefix = prefix_of(filled.asked, filled.window, sought.given.chosen.tools or ())
    if session is None or prefix is None:
        return
    keep_to(tenant_id)
    try:
        with best_effort_transaction() as db:
            keep_prefix(db, tenant_id, session.session_id, prefix, generation=session.generation)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=session.session_id, error=type(error).__name__)
