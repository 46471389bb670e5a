"""Large results of earlier turns, whole in their messages: read once, then from the provider's cache."""

from collections.abc import Sequence
from uuid import UUID

from api.context.artifacts import Room
from api.turns.large_results import restore_messages
from context.artifacts.in_place import choose_in_place
from context.artifacts.split import pointed_artifacts
from context.providers.prompt_cache import cache_ttl_s
from context.types import Message
from models.artifacts.use import result_sizes
from models.conversations.summary_settings import compression_settings
from models.database import read_transaction

FREE_SHARE = 0.75
"""Share of results in place in the room left by history; recall has the rest."""


def caches(model: str) -> bool:
    """Tell whether a model's provider caches prefixes, by the table and the settings."""
    return cache_ttl_s(model, compression_settings().activation_settings.cache_ttl_s) > 0


def put_in_place(
    tenant_id: UUID, session_id: str, before: Sequence[Message], room: Room
) -> tuple[Sequence[Message], tuple[str, ...]]:
    """Put results back into the turns before the present turn, as far as cheap.

    Args:
        tenant_id: The session's tenant.
        session_id: The session's id.
        before: The raw messages of earlier turns, oldest first.
        room: Room for artifacts beside the messages.

    Returns:
        As many messages, and the shown artifacts.
    """
    pointing = [message.seq for message in before if message.answer_ids and pointed_artifacts(message)]
    if not pointing:
        return before, ()
    most = min(room.for_artifacts, int((room.whole - room.raw) * FREE_SHARE))
    with read_transaction() as db:
        sizes = result_sizes(db, tenant_id, session_id, from_seq=pointing[0], to_seq=pointing[-1])
        known = {seq: sizes[seq] for seq in pointing if seq in sizes}
        chosen = choose_in_place(known, most_tokens=most, room_tokens=room.whole)
        if not chosen:
            return before, ()
        wanted = [message for message in before if message.seq in chosen]
        restored = restore_messages(db, tenant_id, session_id, wanted)
    whole = {message.seq: message for message in restored}
    shown = dict.fromkeys(one for message in wanted for one in pointed_artifacts(message))
    return [whole.get(message.seq, message) for message in before], tuple(shown)
