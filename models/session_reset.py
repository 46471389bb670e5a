"""A session starts empty and keeps its log; a reset that its caller named is known again."""

from uuid import UUID

from sqlalchemy import text, true, update

from models.conversation import STATE_COLUMNS, Session
from models.session import Transaction
from models.session_state import NOTHING_SUMMARIZED, SessionState

KEPT_RESETS = 16
"""So many of the last resets are known again by their key, where they have one."""


def reset_session(
    db: Transaction, tenant_id: UUID, session_id: str, *, key: bytes | None = None
) -> SessionState | None:
    """Start the session empty, keeping its log: work that is under way is out of date from now on.

    Args:
        db: A transaction.
        tenant_id: Whose session it is.
        session_id: The session.
        key: A digest of what its caller names this reset by; None: it has no name.

    Returns:
        The session after it; None where there is no such session, or one that this reset was done to before.
    """
    mine = (Session.tenant_id == tenant_id, Session.session_id == session_id)
    named = {} if key is None else {"resets": text(f"(array_prepend(:key, resets))[1:{KEPT_RESETS}]")}
    is_new = true() if key is None else text("not (:key = any(resets))")
    row = db.execute(
        update(Session)
        .where(*mine, is_new)
        .values(
            generation=Session.generation + 1,
            start_seq=Session.last_seq,
            **NOTHING_SUMMARIZED,
            **named,
            history_tokens=0,
            cut_seq=0,
            kept_seq=None,
        )
        .returning(*STATE_COLUMNS),
        {} if key is None else {"key": key},
    ).one_or_none()
    return SessionState(*row) if row else None
