"""Parts refused by a session's provider: reasoning up to a message, images above a number."""

from uuid import UUID

from sqlalchemy import update

from models.conversations.session import Session
from models.conversations.session_state import SessionState
from models.database import Transaction


def remember_refusal(
    db: Transaction, tenant_id: UUID, session: SessionState, *, most_images: int | None
) -> None:
    """Store a refusal by a session's provider, so that no later window holds the refused parts.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session: The session as read.
        most_images: Maximum number of images accepted; None for refused reasoning, left out up to the end of
            the log as read.
    """
    values = {"most_images": most_images} if most_images is not None else {"unsigned_seq": session.last_seq}
    db.execute(
        update(Session)
        .where(
            Session.tenant_id == tenant_id,
            Session.session_id == session.session_id,
            Session.generation == session.generation,
        )
        .values(values)
    )
