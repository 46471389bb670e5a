"""Removal of whole turns: their messages, everything derived, and the turns' rows."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import text

from models.database import Transaction
from models.erasure.messages import Changed, remove_messages
from models.erasure.receipt import Receipt
from models.erasure.sessions import take_time

_DROP_EMPTY = text(
    """
    delete from turn t
    where tenant_id = :tenant_id and session_id = :session_id and turn_index = any(:turns)
        and not exists (select from message m where m.tenant_id = t.tenant_id
            and m.session_id = t.session_id and m.seq between t.first_seq and t.last_seq)
    """
)


def remove_turns(db: Transaction, tenant_id: UUID, session_id: str, seqs: Collection[int]) -> Changed | None:
    """Remove the messages of whole turns, everything derived, and the rows of turns without messages.

    The ids of the removed turns are free again, unlike after an erasure: the caller takes back a part of the
    conversation, and tells the conversation as it is now.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session_id: The session.
        seqs: All messages of the turns, at least one.

    Returns:
        The changes; None without such a session or any of the messages.
    """
    changed = remove_messages(db, tenant_id, session_id, seqs)
    if changed is not None:
        place = {"tenant_id": tenant_id, "session_id": session_id, "turns": list(changed.turns)}
        changed.receipt.count("turn", db.execute(_DROP_EMPTY, place).rowcount)
    return changed


_SEQS_AFTER = text(
    """
    select seq from message
    where tenant_id = :tenant_id and session_id = :session_id and seq > :after_seq and seq <= :up_to_seq
    order by seq
    """
)
_DROP_AFTER = text(
    """
    delete from turn where tenant_id = :tenant_id and session_id = :session_id and first_seq > :after_seq
        and last_seq <= :up_to_seq
    """
)


def remove_span(
    db: Transaction, tenant_id: UUID, session_id: str, *, after_seq: int, up_to_seq: int
) -> Changed | None:
    """Remove the turns with messages of `(after_seq, up_to_seq]`, also turns without messages left.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session_id: The session.
        after_seq: Last message before the turns.
        up_to_seq: Last message of the turns.

    Returns:
        The changes; None where no message was left.
    """
    span = {"tenant_id": tenant_id, "session_id": session_id, "after_seq": after_seq, "up_to_seq": up_to_seq}
    take_time(db)
    seqs = db.execute(_SEQS_AFTER, span).scalars().all()
    changed = remove_turns(db, tenant_id, session_id, seqs) if seqs else None
    rows = db.execute(_DROP_AFTER, span).rowcount
    if changed is not None:
        changed.receipt.count("turn", rows)
    return changed


def merged(changes: Collection[Changed]) -> Receipt:
    """Add up the receipts of several changes."""
    receipt = Receipt()
    for change in changes:
        receipt.add(change.receipt)
    return receipt
