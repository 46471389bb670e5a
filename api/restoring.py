"""Messages as they were sent: what intake took out of them is put back where it stood."""

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

    Only what was taken out of a message itself is put back into it, whatever its text names.

    Args:
        db: A transaction.
        tenant_id: Whose session.
        session_id: Which one.
        messages: Stored messages of it.

    Returns:
        The messages as they were sent; those without a pointer are the same objects.
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
    """The stored messages of a turn that new messages go on with; none where they begin another one."""
    if not tail or any(message.starts_turn for message in new):
        return ()
    begins = next((place for place in reversed(range(len(tail))) if tail[place].starts_turn), 0)
    return tail[begins:]
