"""Compactions of providers in a session's log, and the one that stands for the messages before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, exists, select

from context.shape.target import target_of
from context.types import Message, Wire
from context.wire.parts import cut_at_compaction, without_compaction
from models.conversations.history import load_messages
from models.conversations.log import StoredMessage, TurnRow
from models.database import Transaction

MOST_COMPACTIONS = 100
"""Newest compactions of a session looked at."""


@dataclass(frozen=True)
class StoredCompaction:
    """A stored compaction of a provider.

    Attributes:
        seq: The message with the compaction.
        window: The messages of the compacted window, in order, the message itself among them.
        wire: The format.
        model: The model that answered in the turn; None if unknown.
    """

    seq: int
    window: Sequence[int]
    wire: Wire
    model: str | None


@dataclass(frozen=True)
class CompactedWindow:
    """A provider's compacted window.

    Attributes:
        seq: The message with the compaction: everything up to the message is covered.
        messages: The messages to send, in order; of the message itself the compaction alone.
        after: The content of the message after the compaction, still raw; None for none.
    """

    seq: int
    messages: Sequence[Message]
    after: Message | None = None


def has_compaction(session: Any) -> ColumnElement[bool]:
    """Say in a query of sessions whether a session holds a compaction since its last reset."""
    return exists().where(
        StoredMessage.tenant_id == session.tenant_id,
        StoredMessage.session_id == session.session_id,
        StoredMessage.seq > session.start_seq,
        StoredMessage.compaction.is_not(None),
    )


def load_compactions(
    db: Transaction, tenant_id: UUID, session_id: str, *, after_seq: int, most: int | None = MOST_COMPACTIONS
) -> list[StoredCompaction]:
    """Load the compactions of a session after a message, newest first."""
    of_turn = and_(
        TurnRow.tenant_id == StoredMessage.tenant_id,
        TurnRow.session_id == StoredMessage.session_id,
        TurnRow.turn_index == StoredMessage.turn_index,
    )
    rows = db.execute(
        select(StoredMessage.seq, StoredMessage.compaction, StoredMessage.wire, TurnRow.model)
        .outerjoin(TurnRow, of_turn)
        .where(
            StoredMessage.tenant_id == tenant_id,
            StoredMessage.session_id == session_id,
            StoredMessage.seq > after_seq,
            StoredMessage.compaction.is_not(None),
        )
        .order_by(StoredMessage.seq.desc())
        .limit(most)
    )
    return [StoredCompaction(row[0], row[1] or [], Wire(row[2]), row[3]) for row in rows]


def find_own(
    compactions: Sequence[StoredCompaction], *, model: str, wire: Wire | None, after_seq: int
) -> StoredCompaction | None:
    """Find the newest compaction that a model's provider reads.

    Args:
        compactions: The compactions, newest first.
        model: The reading model.
        wire: The format of the request; None for any format.
        after_seq: Compactions up to this message are not sent: the provider refused them.
    """
    return next(
        (
            one
            for one in compactions
            if one.seq > after_seq
            and wire in (None, one.wire)
            and target_of(one.wire, model).reads_compaction(one.wire, one.model)
        ),
        None,
    )


def load_window(
    db: Transaction, tenant_id: UUID, session_id: str, compaction: StoredCompaction
) -> CompactedWindow | None:
    """Load the messages of a compacted window; None if the compaction is gone meanwhile."""
    found = {message.seq: message for message in load_messages(db, tenant_id, session_id, compaction.window)}
    cut = cut_at_compaction(found[compaction.seq]) if compaction.seq in found else None
    if cut is None:
        return None
    found[compaction.seq] = cut.item
    kept = (
        found[seq] if seq == compaction.seq else without_compaction(found[seq])
        for seq in compaction.window
        if seq in found
    )
    messages = [message for message in kept if message is not None]
    return CompactedWindow(compaction.seq, messages, cut.after)
