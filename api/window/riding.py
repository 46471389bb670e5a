"""Remember what a request began with, so that a summary may be asked for behind the same beginning."""

from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.window.gather import Filled, Sought
from context.riding import prefix_of
from context.shadow.parts import EVERY_PART
from models.chat_prefix import keep_prefix
from models.row_security import keep_to
from models.session import hinting
from models.settings import compression_settings

log = structlog.get_logger()


def may_be_ridden(sought: Sought) -> bool:
    """Whether a summary could ride on a request: where an emergency or shadow mode shapes it, none can."""
    session = sought.standing.session if sought.standing else None
    return (
        compression_settings().summarize_rides_prefix
        and session is not None
        and session.left_out is None
        and sought.applied == EVERY_PART
    )


def remember_prefix(tenant_id: UUID, sought: Sought, filled: Filled) -> None:
    """Keep what the request began with; a hint, and no more: a summary without it is asked for as ever."""
    session = sought.standing.session if sought.standing else None
    prefix = prefix_of(filled.asked, filled.window, sought.given.chosen.tools or ())
    if session is None or prefix is None:
        return
    keep_to(tenant_id)
    try:
        with hinting() as db:
            keep_prefix(db, tenant_id, session.session_id, prefix, generation=session.generation)
    except SQLAlchemyError as error:
        log.warning("hint_lost", session_id=session.session_id, error=type(error).__name__)
