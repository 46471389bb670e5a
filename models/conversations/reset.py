"""Reset of a session: starts empty and keeps the log; a reset with a key is recognized when repeated."""

from uuid import UUID

from sqlalchemy import text, true, update

from models.conversations.session import STATE_COLUMNS, Session
from models.conversations.session_state import NOTHING_SUMMARIZED, SessionState
from models.database import Transaction

KEPT_RESETS = 16
"""Number of last resets recognized by key."""


def reset_session(
    db: Transaction, tenant_id: UUID, session_id: str, *, key: bytes | None = None
) -> SessionState | None:
    """Start the session empty and keep the log: work under way is out of date from now on.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session_id: The session.
        key: Digest of the caller's name for the reset; None without a name.

    Returns:
        The session's state afterwards; None for a missing session, or a repeated reset.
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
