"""Extension of the newest turn: more messages under the same id."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy import text

from models.artifacts.artifact import store_artifacts
from models.artifacts.use import PlacedUse, add_uses
from models.conversations.log import INSERT_MESSAGES, NewTurn, message_rows
from models.conversations.session_state import SessionState
from models.conversations.turn_places import StoredTurn
from models.database import Transaction
from models.encryption.keys import TextCipher
from models.json_rows import json_of

_EXTEND = text(
    f"""
    with new_messages as (
        {INSERT_MESSAGES}
    ), longer as (
        update turn set last_seq = :last_seq, tokens = tokens + :tokens, model = coalesce(:model, model),
            context_window = coalesce(:context_window, context_window)
        where tenant_id = :tenant_id and session_id = :session_id and turn_index = :turn_index
    )
    update session set last_seq = :last_seq, history_tokens = history_tokens + :tokens,
        model = coalesce(:model, model), context_window = coalesce(:context_window, context_window),
        last_turn_at = now()
    where tenant_id = :tenant_id and session_id = :session_id
    """  # noqa: S608 (a part of ours)
)
_CLOSE = text(
    "update turn set body_sha256 = :digest "
    "where tenant_id = :tenant_id and session_id = :session_id and turn_index = :turn_index"
)


def extend_turn(
    db: Transaction, tenant_id: UUID, session: SessionState, turn: StoredTurn, more: NewTurn
) -> SessionState:
    """Append messages to the newest turn. The caller holds the session's row.

    Args:
        db: A transaction.
        tenant_id: The tenant of the session.
        session: The session's state.
        turn: The newest turn; it ends with the session's last message.
        more: The further messages, with their large results.

    Returns:
        The session's state afterwards.
    """
    place = replace(turn.placed_in(more.session_id), first_seq=session.last_seq + 1)
    last_seq = session.last_seq + len(more.messages)
    cells = TextCipher(db, tenant_id)
    asked = {
        "tenant_id": tenant_id,
        "session_id": more.session_id,
        "turn_index": turn.turn_index,
        "last_seq": last_seq,
        "tokens": more.tokens,
        "model": more.model,
        "context_window": more.context_window,
    }
    db.execute(_EXTEND, {**asked, "messages": json_of(list(message_rows(cells, more, place)))})
    store_artifacts(db, tenant_id, more.artifacts)
    _add_uses(db, tenant_id, place.first_seq, turn, more)
    return replace(
        session,
        last_seq=last_seq,
        history_tokens=session.history_tokens + more.tokens,
        model=more.model or session.model,
        context_window=more.context_window or session.context_window,
    )


def _add_uses(db: Transaction, tenant_id: UUID, first_seq: int, turn: StoredTurn, more: NewTurn) -> None:
    uses: Sequence[PlacedUse] = [
        PlacedUse(more.session_id, turn.turn_index, first_seq, use) for use in more.uses
    ]
    add_uses(db, tenant_id, uses)


def close_turn(db: Transaction, tenant_id: UUID, session_id: str, turn: StoredTurn, digest: bytes) -> None:
    """Mark an open turn as complete.

    Args:
        db: A transaction; the caller holds the session's row.
        tenant_id: The tenant of the session.
        session_id: The session.
        turn: The turn.
        digest: Digest of all messages of the turn.
    """
    asked = {"tenant_id": tenant_id, "session_id": session_id, "turn_index": turn.turn_index}
    db.execute(_CLOSE, {**asked, "digest": TextCipher(db, tenant_id).digest(digest)})
