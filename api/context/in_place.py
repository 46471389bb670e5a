"""Large results of earlier turns, whole in their messages: read once, then from the provider's cache."""

from collections.abc import Sequence
from uuid import UUID

from api.context.artifacts import Room
from api.turns.large_results import restore_messages
from context.artifact_plans.strategies import EXTRACT_TOKENS
from context.artifacts.split import choose_in_place, pointed_artifacts
from context.types import Message
from models.artifacts.use import result_sizes
from models.conversations.session_state import SessionState
from models.database import read_transaction
from models.read_ahead import ReadAhead

FREE_SHARE = 0.9
"""Share of results in place in the room left by history; recall has the rest."""


def put_in_place(
    tenant_id: UUID,
    session: SessionState,
    before: Sequence[Message],
    room: Room,
    ahead: ReadAhead | None = None,
) -> tuple[Sequence[Message], tuple[str, ...]]:
    """Put results back into the turns before the present turn, as far as cheap.

    A usual turn of the session needs room too, and so do extracts of the results left out.

    Args:
        tenant_id: The session's tenant.
        session: The session.
        before: The raw messages of earlier turns, oldest first.
        room: Room for artifacts beside the messages.
        ahead: Rows of the session that were read ahead; None for none.

    Returns:
        As many messages, and the shown artifacts.
    """
    pointing = [message.seq for message in before if message.answer_ids and pointed_artifacts(message)]
    if not pointing:
        return before, ()
    usual_turn = session.history_tokens // max(session.last_turn_index, 1)
    most = int((room.whole - room.raw - usual_turn) * FREE_SHARE)
    if room.has_attachments:
        most = min(most, room.for_artifacts)
    session_id = session.session_id
    bounds = {"from_seq": pointing[0], "to_seq": pointing[-1]}
    with read_transaction() as db:
        sizes = ahead.result_sizes(**bounds) if ahead else None
        if sizes is None:
            sizes = result_sizes(db, tenant_id, session_id, **bounds)
        known = {seq: sizes[seq] for seq in pointing if seq in sizes}
        chosen = choose_in_place(known, most_tokens=most, room_tokens=room.whole)
        behind = sum(min(tokens, EXTRACT_TOKENS) for seq, tokens in known.items() if seq not in chosen)
        if behind:
            chosen = choose_in_place(known, most_tokens=most - behind, room_tokens=room.whole)
        if not chosen:
            return before, ()
        wanted = [message for message in before if message.seq in chosen]
        restored = restore_messages(db, tenant_id, session_id, wanted)
    whole = {message.seq: message for message in restored}
    shown = dict.fromkeys(one for message in wanted for one in pointed_artifacts(message))
    return [whole.get(message.seq, message) for message in before], tuple(shown)
