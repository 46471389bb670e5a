"""What a session's provider does not take back: reasoning up to a message, more images than a number."""

from uuid import UUID

from sqlalchemy import update

from models.conversation import Session
from models.session import Transaction
from models.session_state import SessionState


def remember_refusal(
    db: Transaction, tenant_id: UUID, session: SessionState, *, most_images: int | None
) -> None:
    """Remember what a session's provider does not take back, so that no later window of it holds that.

    Args:
        db: A transaction.
        tenant_id: Whose session.
        session: The session as it was read.
        most_images: The most images that it takes; None where it refused reasoning, which stays out up to the
            end of the log as it was read.
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
