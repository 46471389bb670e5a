"""Acceptance of turns: each is appended to its log once; a second delivery is recognized."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import text

from context.providers.model_windows import known_window
from models.conversations.log import CHANGED, AcceptedTurn, NewTurn, append_turns
from models.conversations.session import lock_sessions
from models.conversations.session_state import SessionState
from models.database import Transaction
from models.encryption.keys import TextCipher


def accept_turns(
    db: Transaction, tenant_id: UUID, turns: Sequence[NewTurn]
) -> tuple[list[AcceptedTurn], dict[str, SessionState]]:
    """Append turns to the logs, each once, in the order given.

    Returns:
        An answer for each turn, in the same order, and the state of each session afterwards.
    """
    sessions = lock_sessions(db, tenant_id, (turn.session_id for turn in turns))
    known = _find_turns(db, tenant_id, [(turn.session_id, turn.turn_id) for turn in turns])
    answers, fresh, cells = [], [], TextCipher(db, tenant_id)
    for turn in turns:
        place = (turn.session_id, turn.turn_id)
        if place in known:
            sha, accepted = known[place]
            answers.append(replace(accepted, duplicate=True, conflict=not _is_same(cells, sha, turn)))
            continue
        session = sessions[turn.session_id]
        accepted = AcceptedTurn(
            turn.session_id,
            turn.turn_id,
            session.last_turn_index + 1,
            session.last_seq + 1,
            session.last_seq + len(turn.messages),
        )
        sessions[turn.session_id] = _after(session, turn, accepted)
        known[place] = (cells.digest(turn.body_sha256), accepted)
        answers.append(accepted)
        fresh.append((turn, accepted, session.generation))
    if fresh:
        changed = {turn.session_id for turn, _, _ in fresh}
        append_turns(db, tenant_id, fresh, [sessions[session_id] for session_id in sorted(changed)])
    return answers, sessions


def _is_same(cells: TextCipher, stored: bytes, turn: NewTurn) -> bool:
    if stored in (CHANGED, turn.body_sha256) or stored in cells.digests(turn.body_sha256):
        return True
    return stored in cells.anew().digests(turn.body_sha256)


def _after(session: SessionState, turn: NewTurn, accepted: AcceptedTurn) -> SessionState:
    return replace(
        session,
        last_seq=accepted.last_seq,
        last_turn_index=accepted.turn_index,
        history_tokens=session.history_tokens + turn.tokens,
        model=turn.model or session.model,
        context_window=turn.context_window or _window_after(session, turn.model),
    )


def _window_after(session: SessionState, model: str | None) -> int | None:
    """Choose the window after a turn without a window: another model brings its own window, if known."""
    changes = model is not None and session.model is not None and model != session.model
    return (known_window(model) if changes and model else None) or session.context_window


_FIND_TURNS = text(
    """
    select session_id, turn_id, turn_index, first_seq, last_seq, body_sha256, tokens from turn
    join unnest(cast(:session_ids as text[]), cast(:turn_ids as text[])) as place (session_id, turn_id)
        using (session_id, turn_id)
    where tenant_id = :tenant_id
    """
)


def _find_turns(
    db: Transaction, tenant_id: UUID, places: list[tuple[str, str]]
) -> dict[tuple[str, str], tuple[bytes, AcceptedTurn]]:
    rows = db.execute(
        _FIND_TURNS,
        {
            "tenant_id": tenant_id,
            "session_ids": [session_id for session_id, _ in places],
            "turn_ids": [turn_id for _, turn_id in places],
        },
    )
    return {(row[0], row[1]): (row.body_sha256, _place(row)) for row in rows}


def _place(row: Any) -> AcceptedTurn:
    is_erased = row.body_sha256 == CHANGED and row.tokens == 0
    return replace(AcceptedTurn(*row[:5]), erased=is_erased)
