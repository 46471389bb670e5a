"""Messages of an open turn, one by one: agents send each step as soon as it is there."""

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.answers.base import ApiAnswer, answers
from api.http.call import ChangeCall, SessionId, documented, read_as
from api.http.errors import ProblemError, committed
from api.http.waiting import CHANGES_SESSION
from api.sessions.sync import revision_of
from api.settings import api_settings
from api.turns.intake import (
    Intake,
    TurnBody,
    TurnCompleted,
    describe_messages,
    notes_on,
    read_turn,
    store_turns,
)
from api.turns.large_results import restore_messages, take_out_in
from api.turns.routes import TurnId, afterwards, load_turn
from context.conversation.compare import message_key
from context.types import Message
from models.conversations.accept import StoredTurn, close_turn, extend_turn, find_turn, newest_turn
from models.conversations.log import OPEN, AcceptedTurn, NewTurn
from models.conversations.session import lock_sessions
from models.conversations.session_state import SessionState
from models.following_work import enqueue_following
from models.plans.later_results import join_later_results
from models.scope import Scope
from models.telemetry.counters import Counted, count

router = APIRouter(prefix="/v1/sessions/{session_id}", tags=["turns"])


class TurnPart(TurnBody):
    """More messages of a turn."""

    index: int = Field(
        ge=0,
        le=1_000_000,
        description="Number of messages of the turn before these; makes a second delivery harmless.",
    )
    done: bool = Field(default=False, description="Whether these are the last messages of the turn.")


class TurnPartAnswer(ApiAnswer):
    """The turn with the appended messages."""

    session_id: str
    turn_id: str
    turn_index: int
    first_seq: int
    last_seq: int
    length: int = Field(description="The number of messages of the turn: the next `index`.")
    appended: int = Field(description="The number of messages that were new.")
    open: bool = Field(description="Whether the turn takes more messages.")
    duplicate: bool = Field(description="Whether all of it was stored already.")
    revision: str = Field(description="The state of the session's log.")
    notes: list[str]


@dataclass(frozen=True)
class Extension:
    """A turn after its extension.

    Attributes:
        turn: The turn.
        appended: The number of messages that were new.
        session: The session.
        messages: All messages of the turn.
    """

    turn: StoredTurn
    appended: int
    session: SessionState
    messages: list[Message]

    def as_json(self) -> dict[str, Any]:
        """Return the answer without notes."""
        turn = self.turn
        return {
            "session_id": self.session.session_id,
            "turn_id": turn.turn_id,
            "turn_index": turn.turn_index,
            "first_seq": turn.first_seq,
            "last_seq": turn.last_seq,
            "length": turn.last_seq - turn.first_seq + 1,
            "appended": self.appended,
            "open": turn.is_open,
            "duplicate": self.appended == 0,
            "revision": revision_of(self.session),
        }


@router.post(
    "/turns/{turn_id}/messages",
    openapi_extra=documented(TurnPart),
    dependencies=CHANGES_SESSION,
    **answers(TurnPartAnswer, "append_messages", "Append messages to an open turn"),
)
def append_messages(session_id: SessionId, turn_id: TurnId, call: ChangeCall) -> Response:
    """Append messages to the newest turn, or begin the turn; `done` closes it.

    `index` says where the messages stand in the turn, so that a repeated call stores nothing twice. A whole
    turn that was posted at once is closed, and so is a turn that another turn follows.
    """
    tenant_id = call.caller("write").tenant_id
    part, cleaned = read_as(TurnPart, call.raw)
    event = TurnCompleted(turn_id=turn_id, **part.model_dump(exclude={"index", "done"}))
    intake = read_turn(session_id, event, cleaned=cleaned)
    given = describe_messages(event.messages, event.wire, speaker=event.speaker)
    done = committed(tenant_id, partial(_append, intake=intake, part=part, given=given))
    if done.appended and part.index == 0:
        count(Counted.TURNS)
    place = replace(done.turn.placed_in(session_id), duplicate=not done.appended)
    answer = {**done.as_json(), "notes": [*intake.on_entry, *notes_on(done.messages)]}
    later = afterwards(tenant_id, [(intake.turn, place)])
    return Response(orjson.dumps(answer), media_type="application/json", background=later)


def _append(scope: Scope, *, intake: Intake, part: TurnPart, given: list[Message]) -> Extension:
    session_id, turn_id = intake.turn.session_id, intake.turn.turn_id
    session = lock_sessions(scope, [session_id])[session_id]
    turn = find_turn(scope, session_id, turn_id)
    if turn is None:
        _refuse_gap(part, length=0)
        return _begin(scope, intake, given, is_done=part.done)
    stored = load_turn(scope, session_id, turn)
    whole = restore_messages(scope, session_id, stored)
    held, more = Extension(turn, 0, session, whole), given[_known(whole, given, part) :]
    if more:
        _refuse_closed(scope, session, turn, stored)
        held = _extend(scope, held, stored, replace(intake.turn, messages=more))
    if part.done and turn.is_open:
        digest = hashlib.sha256("\0".join(message.raw for message in [*whole, *more]).encode()).digest()
        close_turn(scope, session_id, turn, digest)
        held = replace(held, turn=replace(held.turn, body_sha256=digest))
    return held


def _begin(scope: Scope, intake: Intake, given: list[Message], *, is_done: bool) -> Extension:
    new = intake.turn if is_done else replace(intake.turn, body_sha256=OPEN)
    [accepted] = store_turns(scope, [new])
    session = lock_sessions(scope, [new.session_id])[new.session_id]
    turn = find_turn(scope, new.session_id, new.turn_id)
    assert turn is not None  # noqa: S101 (it was stored just now)
    return Extension(turn, accepted.last_seq - accepted.first_seq + 1, session, given)


def _known(whole: list[Message], given: list[Message], part: TurnPart) -> int:
    """Count the given messages that the turn has already.

    Raises:
        ProblemError: Messages are missing in between, or the turn holds others.
    """
    _refuse_gap(part, length=len(whole))
    overlap = whole[part.index : part.index + len(given)]
    for place, (old, new) in enumerate(zip(overlap, given, strict=False)):
        if message_key(old) != message_key(new):
            raise ProblemError(
                "turn-conflict",
                f"messages[{place}]: the turn holds another message at {part.index + place}; replace the "
                "turn, or send the messages behind it",
                field="index",
                length=len(whole),
            )
    return len(overlap)


def _refuse_gap(part: TurnPart, *, length: int) -> None:
    limit = api_settings().max_turn_messages
    if part.index > length:
        raise ProblemError(
            "turn-conflict",
            f"index: the turn has {length} messages so far; send those from {length} on",
            field="index",
            length=length,
        )
    if part.index + len(part.messages) > limit:
        message = f"messages: the turn would have more than {limit} messages; begin another turn"
        raise ProblemError("too-large", message, field="messages", limit=limit)


def _refuse_closed(scope: Scope, session: SessionState, turn: StoredTurn, stored: list[Message]) -> None:
    newest = newest_turn(scope, session)
    is_newest = newest is not None and newest.turn_index == turn.turn_index
    is_whole = len(stored) == turn.last_seq - turn.first_seq + 1
    if not (turn.is_open and is_newest and is_whole):
        raise ProblemError(
            "turn-closed",
            "turn_id: the turn takes no more messages: it was posted whole, closed or changed, or another "
            "turn follows; begin another turn",
            field="turn_id",
        )


def _extend(scope: Scope, held: Extension, stored: list[Message], extension: NewTurn) -> Extension:
    """Append the messages of an extension to a stored turn, and queue the resulting work."""
    more = extension.messages
    taken = take_out_in([*stored, *more], range(len(stored), len(stored) + len(more)))
    extension = replace(
        extension,
        messages=taken.messages[len(stored) :],
        artifacts=taken.artifacts,
        uses=tuple(replace(use, message=use.message - len(stored)) for use in taken.uses),
    )
    session, turn = held.session, held.turn
    after = extend_turn(scope, session, turn, extension)
    place = AcceptedTurn(
        session.session_id, turn.turn_id, turn.turn_index, session.last_seq + 1, after.last_seq
    )
    join_later_results(scope, [(extension, place)])
    enqueue_following(scope, [extension], [place], {session.session_id: after})
    return Extension(
        replace(turn, last_seq=after.last_seq), len(more), after, [*held.messages, *extension.messages]
    )
