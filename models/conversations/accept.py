"""Turns: accepted once, extended, and found by id, by index or as the newest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    ARRAY,
    Text,
    Uuid,
    bindparam,
    case,
    false,
    func,
    literal_column,
    outerjoin,
    select,
    text,
    true,
)
from sqlalchemy.orm import aliased

from context.providers.model_windows import known_window
from models.artifacts.artifact import store_artifacts
from models.artifacts.use import PlacedUse, add_uses
from models.base import json_of, json_rows
from models.conversations.log import (
    CHANGED,
    INSERT_MESSAGES,
    OPEN,
    AcceptedTurn,
    NewTurn,
    StoredMessage,
    TurnRow,
    append_turns,
    message_rows,
)
from models.conversations.session import STATE_COLUMNS, Session, create_missing
from models.conversations.session_state import SessionState
from models.encryption.keys import TextCipher
from models.scope import Scope


@dataclass(frozen=True)
class StoredTurn:
    """A turn's row without its messages.

    Attributes:
        turn_id: The platform's id of the turn.
        turn_index: Place in the session.
        first_seq: First message of the turn.
        last_seq: Last message of the turn.
        body_sha256: Stored digest of the event, or a mark.
    """

    turn_id: str
    turn_index: int
    first_seq: int
    last_seq: int
    body_sha256: bytes

    @property
    def is_open(self) -> bool:
        """True if more messages of the turn are expected."""
        return self.body_sha256 == OPEN

    def placed_in(self, session_id: str) -> AcceptedTurn:
        """Return the place of the turn, as told to a repeated delivery."""
        return AcceptedTurn(
            session_id, self.turn_id, self.turn_index, self.first_seq, self.last_seq, duplicate=True
        )

    def is_told_by(self, cells: TextCipher, turn: NewTurn) -> bool:
        """Tell whether the turn was stored from the same event, and not changed since."""
        if self.body_sha256 in (CHANGED, OPEN):
            return False
        return self.body_sha256 == turn.body_sha256 or self.body_sha256 in cells.digests(turn.body_sha256)


_COLUMNS = "turn_id, turn_index, first_seq, last_seq, body_sha256"
_BY_ID = text(
    f"""
    select {_COLUMNS} from turn
    where tenant_id = :tenant_id and session_id = :session_id and turn_id = :turn_id
    """  # noqa: S608 (names of ours)
)
_NEWEST = text(
    f"""
    select {_COLUMNS} from turn
    where tenant_id = :tenant_id and session_id = :session_id and first_seq > :start_seq
    order by turn_index desc limit 1
    """  # noqa: S608 (names of ours)
)
_AT = text(
    """
    select session_id, turn_id, turn_index, first_seq, last_seq from turn
    where tenant_id = :tenant_id and session_id = :session_id and turn_index = any(:indexes)
    order by turn_index
    """
)


def find_turn(scope: Scope, session_id: str, turn_id: str) -> StoredTurn | None:
    """Find a turn by the platform's id."""
    return _one(scope.execute(_BY_ID, session_id=session_id, turn_id=turn_id))


def newest_turn(scope: Scope, session: SessionState) -> StoredTurn | None:
    """Find a session's newest turn since the last reset."""
    asked = {"session_id": session.session_id, "start_seq": session.start_seq}
    return _one(scope.execute(_NEWEST, **asked))


def _one(found: Any) -> StoredTurn | None:
    row = found.one_or_none()
    return StoredTurn(row[0], row[1], row[2], row[3], bytes(row[4])) if row else None


def find_turns_at(scope: Scope, session_id: str, indexes: Sequence[int]) -> list[AcceptedTurn]:
    """Find the places of turns by index, oldest first; missing turns are passed over."""
    asked = {"session_id": session_id, "indexes": list(indexes)}
    return [AcceptedTurn(*row) for row in scope.execute(_AT, **asked)] if indexes else []


def accept_turns(
    scope: Scope, turns: Sequence[NewTurn]
) -> tuple[list[AcceptedTurn], dict[str, SessionState]]:
    """Append turns to the logs, each once, in the order given.

    Returns:
        An answer for each turn, in the same order, and the state of each session afterwards.
    """
    sessions, known = _lock_with_turns(scope, turns)
    ends = {session_id: _LogEnd(session) for session_id, session in sessions.items()}
    answers, fresh, cells = [], [], scope.cells
    for turn in turns:
        place = (turn.session_id, turn.turn_id)
        if place in known:
            sha, accepted = known[place]
            answers.append(replace(accepted, duplicate=True, conflict=not _is_same(cells, sha, turn)))
            continue
        accepted = ends[turn.session_id].append(turn)
        known[place] = (cells.digest(turn.body_sha256), accepted)
        answers.append(accepted)
        fresh.append((turn, accepted, sessions[turn.session_id].generation))
    if fresh:
        changed = sorted({turn.session_id for turn, _, _ in fresh})
        sessions |= {session_id: ends[session_id].after(sessions[session_id]) for session_id in changed}
        append_turns(scope, fresh, [sessions[session_id] for session_id in changed])
    return answers, sessions


class _LogEnd:
    """The end of a session's log while turns are appended."""

    def __init__(self, session: SessionState) -> None:
        """Begin at the end of a locked session's log."""
        self.last_seq = session.last_seq
        self.last_turn_index = session.last_turn_index
        self.history_tokens = session.history_tokens
        self.model = session.model
        self.context_window = session.context_window

    def append(self, turn: NewTurn) -> AcceptedTurn:
        """Give the next place to a turn."""
        first_seq = self.last_seq + 1
        self.last_seq += len(turn.messages)
        self.last_turn_index += 1
        self.history_tokens += turn.tokens
        self.context_window = turn.context_window or self._window_with(turn.model)
        self.model = turn.model or self.model
        return AcceptedTurn(turn.session_id, turn.turn_id, self.last_turn_index, first_seq, self.last_seq)

    def _window_with(self, model: str | None) -> int | None:
        """Choose the window of a turn without one: another model brings its own window, if known."""
        changes = model is not None and self.model is not None and model != self.model
        return (known_window(model) if changes and model else None) or self.context_window

    def after(self, session: SessionState) -> SessionState:
        """Return the session's state with this end."""
        return replace(session, **vars(self))


def _is_same(cells: TextCipher, stored: bytes, turn: NewTurn) -> bool:
    if stored in (CHANGED, turn.body_sha256) or stored in cells.digests(turn.body_sha256):
        return True
    return stored in cells.anew().digests(turn.body_sha256)


_Known = dict[tuple[str, str], tuple[bytes, AcceptedTurn]]


def _lock_with_turns(scope: Scope, turns: Sequence[NewTurn]) -> tuple[dict[str, SessionState], _Known]:
    """Lock the sessions of turns, and find the turns that are stored already, by one statement.

    A statement that waits for a lock goes on with the turns from before the wait. If a session has got more
    turns meanwhile, the turns are looked for again.
    """
    wanted = sorted({turn.session_id for turn in turns})
    places = json_of([{"session_id": turn.session_id, "turn_id": turn.turn_id} for turn in turns])
    given = {"places": places}
    sessions, known, is_late = dict[str, SessionState](), _Known(), False
    for row in scope.execute(_LOCK_WITH_TURNS, **given, session_ids=wanted):
        session = sessions[row[0]] = SessionState(*row[:_STATE])
        is_late |= session.last_turn_index > (row.seen_turn_index or 0)
        if row.turn_id is not None:
            known[row[0], row.turn_id] = _found(row[0], row[_STATE:-1])
    if len(sessions) < len(wanted):
        sessions, is_late = create_missing(scope, wanted, sessions), True
    if is_late:
        for row in scope.execute(_FIND_TURNS, **given):
            known[row[0], row.turn_id] = _found(row[0], row[1:])
    return sessions, known


_TENANT = bindparam("tenant_id", type_=Uuid)
_PLACES = json_rows("places", session_id=Text, turn_id=Text)
_LEFT = (
    select(func.count())
    .where(
        StoredMessage.tenant_id == TurnRow.tenant_id,
        StoredMessage.session_id == TurnRow.session_id,
        StoredMessage.seq.between(TurnRow.first_seq, TurnRow.last_seq),
    )
    .scalar_subquery()
)
_IS_ERASED = case(
    (TurnRow.body_sha256 == CHANGED, TurnRow.last_seq - TurnRow.first_seq >= _LEFT), else_=false()
)
"""Numbers of erased messages are not given again: a turn with fewer messages than numbers has lost some."""

_TURN = (
    select(
        TurnRow.turn_id,
        TurnRow.turn_index,
        TurnRow.first_seq,
        TurnRow.last_seq,
        TurnRow.body_sha256,
        _IS_ERASED.label("is_erased"),
    )
    .where(
        TurnRow.tenant_id == _TENANT,
        TurnRow.session_id == _PLACES.c.session_id,
        TurnRow.turn_id == _PLACES.c.turn_id,
    )
    .limit(literal_column("1"))
    .lateral("stored")
)
"""The limit keeps the planner from reading all turns of a tenant or a session for a few."""

_FIND_TURNS = select(_PLACES.c.session_id, *_TURN.c).select_from(_PLACES.join(_TURN, true()))
_STORED = _FIND_TURNS.cte("known").prefix_with("materialized")

_newest = aliased(TurnRow)
_SEEN = (
    select(func.max(_newest.turn_index))
    .where(_newest.tenant_id == Session.tenant_id, _newest.session_id == Session.session_id)
    .scalar_subquery()
    .label("seen_turn_index")
)
_STATE = len(STATE_COLUMNS)
_LOCK_WITH_TURNS = (
    select(*STATE_COLUMNS, *list(_STORED.c)[1:], _SEEN)
    .select_from(outerjoin(Session, _STORED, _STORED.c.session_id == Session.session_id))
    .where(
        Session.tenant_id == _TENANT,
        Session.session_id == func.any(bindparam("session_ids", type_=ARRAY(Text))),
    )
    .order_by(Session.session_id)
    .with_for_update(key_share=True, of=Session)
)


def _found(session_id: str, turn: Sequence[Any]) -> tuple[bytes, AcceptedTurn]:
    turn_id, turn_index, first_seq, last_seq, body_sha256, is_erased = turn
    accepted = AcceptedTurn(session_id, turn_id, turn_index, first_seq, last_seq, erased=is_erased)
    return body_sha256, accepted


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


def extend_turn(scope: Scope, session: SessionState, turn: StoredTurn, more: NewTurn) -> SessionState:
    """Append messages to the newest turn. The caller holds the session's row.

    Args:
        scope: The transaction and its tenant.
        session: The session's state.
        turn: The newest turn; it ends with the session's last message.
        more: The further messages, with their large results.

    Returns:
        The session's state afterwards.
    """
    place = replace(turn.placed_in(more.session_id), first_seq=session.last_seq + 1)
    last_seq = session.last_seq + len(more.messages)
    cells = scope.cells
    asked = {
        "session_id": more.session_id,
        "turn_index": turn.turn_index,
        "last_seq": last_seq,
        "tokens": more.tokens,
        "model": more.model,
        "context_window": more.context_window,
    }
    scope.execute(_EXTEND, **asked, messages=json_of(list(message_rows(cells, more, place))))
    store_artifacts(scope, more.artifacts)
    _add_uses(scope, place.first_seq, turn, more)
    return replace(
        session,
        last_seq=last_seq,
        history_tokens=session.history_tokens + more.tokens,
        model=more.model or session.model,
        context_window=more.context_window or session.context_window,
    )


def _add_uses(scope: Scope, first_seq: int, turn: StoredTurn, more: NewTurn) -> None:
    uses: Sequence[PlacedUse] = [
        PlacedUse(more.session_id, turn.turn_index, first_seq, use) for use in more.uses
    ]
    add_uses(scope, uses)


def close_turn(scope: Scope, session_id: str, turn: StoredTurn, digest: bytes) -> None:
    """Mark an open turn as complete.

    Args:
        scope: The tenant's transaction; the caller holds the session's row.
        session_id: The session.
        turn: The turn.
        digest: Digest of all messages of the turn.
    """
    asked = {"session_id": session_id, "turn_index": turn.turn_index}
    scope.execute(_CLOSE, **asked, digest=scope.cells.digest(digest))
