"""Restoring of messages as sent: results taken out at intake are put back."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from context.artifacts.split import pointed_artifacts, restore_results
from context.types import Message
from models.artifact_results import TakenResult, load_results
from models.session import Transaction


def restore_messages(
    db: Transaction, tenant_id: UUID, session_id: str, messages: Sequence[Message]
) -> list[Message]:
    """Put large tool results back into stored messages.

    Only results taken out of the message itself are put back, regardless of pointers in its text.

    Args:
        db: A transaction.
        tenant_id: The session's tenant.
        session_id: The session's id.
        messages: Stored messages of the session.

    Returns:
        The messages as sent; messages without a pointer are the same objects.
    """
    pointing = [message.seq for message in messages if message.answer_ids and pointed_artifacts(message)]
    if not pointing:
        return list(messages)
    taken = load_results(db, tenant_id, session_id, from_seq=min(pointing), to_seq=max(pointing))
    return [_restored(message, taken.get(message.seq, {})) for message in messages]


def _restored(message: Message, taken: Mapping[str, TakenResult]) -> Message:
    contents = {artifact_id: result.content for artifact_id, result in taken.items()}
    counts = {artifact_id: result.count for artifact_id, result in taken.items()}
    return restore_results(message, contents, counts=counts) if contents else message


def open_turn_of(tail: Sequence[Message], new: Sequence[Message]) -> Sequence[Message]:
    """Return the stored messages of the turn continued by new messages; empty if a new turn begins."""
    if not tail or any(message.starts_turn for message in new):
        return ()
    begins = next((place for place in reversed(range(len(tail))) if tail[place].starts_turn), 0)
    return tail[begins:]
