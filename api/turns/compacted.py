"""Turns with a compacted window: words of users that a provider hands back are stored once."""

from dataclasses import replace
from uuid import UUID

from api.settings import api_settings
from context.conversation.compare import repeats_all_words
from context.types import Message
from models.conversations.history import load_newest
from models.conversations.log import NewTurn
from models.conversations.session import lock_sessions
from models.database import Transaction


def without_repeated_words(db: Transaction, tenant_id: UUID, turn: NewTurn) -> NewTurn:
    """Leave out the words before a compaction that are all stored, and name them as its window.

    A provider's standalone compaction answers with every word of the user, then the compaction. Any other
    words before a compaction are the turn's own.

    Args:
        db: A transaction.
        tenant_id: The tenant of the turn.
        turn: The turn as sent.

    Returns:
        The turn to store; the same turn if nothing is repeated.
    """
    at = max((place for place, message in enumerate(turn.messages) if message.compaction), default=0)
    lead = turn.messages[:at]
    if not lead or not all(message.starts_turn for message in lead):
        return turn
    stored = [message for message in _load(db, tenant_id, turn.session_id) if message.starts_turn]
    if not repeats_all_words(stored, lead):
        return turn
    window = (*(message.seq for message in stored), 0)
    compaction = replace(turn.messages[at], compaction=window)
    uses = [replace(use, message=use.message - at) for use in turn.uses]
    return replace(turn, messages=[compaction, *turn.messages[at + 1 :]], uses=uses)


def _load(db: Transaction, tenant_id: UUID, session_id: str) -> list[Message]:
    session = lock_sessions(db, tenant_id, [session_id])[session_id]
    bounds = {"after_seq": session.start_seq, "up_to_seq": session.last_seq}
    return load_newest(db, tenant_id, session_id, **bounds, most=api_settings().max_history_messages)
