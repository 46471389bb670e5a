"""A session's log over HTTP: the raw turns behind a summary, and the windows as they were served."""

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from api.answers.base import answers
from api.answers.sessions import ServedWindowAnswer, ServedWindows
from api.http.call import BodyCall, Parameters, SessionId
from api.http.errors import ProblemError, not_found
from api.settings import api_settings
from api.turns.large_results import restore_messages
from context.types import JsonObject, Wire
from models.conversations.history import LoggedTurn, load_turns
from models.conversations.served_window import list_windows, load_window
from models.conversations.session import find_session
from models.conversations.settings import served_window_settings
from models.conversations.standing import find_standing
from models.scope import Scope

router = APIRouter(prefix="/v1/sessions/{session_id}", tags=["turns"])

DEFAULT_MESSAGES = 50
"""Number of newest messages read without a given range."""

MAX_SEQ = 2**63 - 1


class SeqRange(Parameters):
    """Range of messages to read, by the numbers cited in summaries; both ends included."""

    from_seq: int | None = Field(
        None, alias="from", ge=0, le=MAX_SEQ, description="The first message; without it, 49 before the last."
    )
    to_seq: int | None = Field(
        None, alias="to", ge=0, le=MAX_SEQ, description="The last message; without it, the newest."
    )


class TurnAsStored(BaseModel):
    """A whole turn, as sent."""

    turn_index: int = Field(description="Its place in the session, from 1.")
    turn_id: str
    generation: int = Field(description="The session's generation when it came.")
    first_seq: int
    last_seq: int
    completed_at: datetime | None
    model: str | None
    wire: Wire | None = Field(description="The format of its messages; null where none is left.")
    seqs: list[int] = Field(description="The number of each message: what summaries cite in brackets.")
    messages: list[JsonObject] = Field(description="Its messages, as sent.")


class TurnsAnswer(BaseModel):
    """The turns of a range of messages."""

    session_id: str
    generation: int = Field(
        description="The present one: turns of earlier ones came before a reset, an edit or an erasure."
    )
    turns: list[TurnAsStored] = Field(description="Whole turns that touch the range, oldest first.")
    next: int | None = Field(description="Where to read on: the next call's `from`; null at the end.")


@router.get("/turns", **answers(TurnsAnswer, "read_turns", "Read stored turns"))
def show_turns(session_id: SessionId, call: BodyCall, wanted: Annotated[SeqRange, Query()]) -> Response:
    """Answer with the raw turns touching a range of messages, whole and as sent.

    Turns from before a reset are included; each has its generation. A long range comes in parts: `next` is
    the `from` of the next call.
    """
    caller, settings = call.caller("read"), api_settings()
    if wanted.from_seq is not None and wanted.to_seq is not None and wanted.from_seq > wanted.to_seq:
        raise ProblemError(
            "invalid-input", f"from: {wanted.from_seq} comes after to={wanted.to_seq}", field="from"
        )
    with Scope.read(caller.tenant_id) as scope:
        session = find_session(scope, session_id)
        if session is None:
            raise not_found("session")
        from_seq, to_seq = _ends(wanted, session.last_seq)
        turns, read_on = load_turns(
            scope,
            session_id,
            from_seq=from_seq,
            to_seq=to_seq,
            most_messages=settings.max_read_messages,
            most_bytes=settings.max_read_bytes,
        )
        turns = [replace(turn, messages=restore_messages(scope, session_id, turn.messages)) for turn in turns]
    answer = {
        "session_id": session_id,
        "generation": session.generation,
        "turns": [_turn(turn) for turn in turns],
        "next": read_on,
    }
    return Response(orjson.dumps(answer), media_type="application/json")


def _ends(wanted: SeqRange, last_seq: int) -> tuple[int, int]:
    to_seq = last_seq if wanted.to_seq is None else wanted.to_seq
    newest = min(to_seq, last_seq)
    return newest - DEFAULT_MESSAGES + 1 if wanted.from_seq is None else wanted.from_seq, to_seq


def _turn(turn: LoggedTurn) -> dict[str, Any]:
    return {
        "turn_index": turn.turn_index,
        "turn_id": turn.turn_id,
        "generation": turn.generation,
        "first_seq": turn.first_seq,
        "last_seq": turn.last_seq,
        "completed_at": turn.completed_at,
        "model": turn.model,
        "wire": turn.messages[0].wire if turn.messages else None,
        "seqs": [message.seq for message in turn.messages],
        "messages": [orjson.Fragment(message.raw) for message in turn.messages],
    }


windows = APIRouter(prefix="/v1/sessions/{session_id}/windows", tags=["context"])

MOST_LISTED = 200


class WantedWindows(Parameters):
    """The part of the windows that is listed."""

    limit: int = Field(50, ge=1, le=MOST_LISTED, description="Most windows.")


WindowId = Annotated[str, Path(description="The window, as the list names it.")]


@windows.get("", **answers(ServedWindows, "list_windows", "List windows as they were served"))
def show_windows(
    session_id: SessionId, call: BodyCall, wanted: Annotated[WantedWindows, Query()]
) -> Response:
    """Answer with the windows kept of a session's requests, newest first, without messages.

    Windows are kept for the share `AFTERTURN_SERVED_WINDOW_SHARE` of requests, up to a number and an age.
    Every change of what was said takes the session's windows away.
    """
    tenant_id = call.caller("read").tenant_id
    with Scope.read(tenant_id) as scope:
        standing = find_standing(scope, session_id)
        found = list_windows(scope, session_id, most=wanted.limit)
    if standing is None and not found:
        raise not_found("session")
    share = served_window_settings().served_window_share
    return _json({"windows": [asdict(one) for one in found], "share": share})


@windows.get("/{window_id}", **answers(ServedWindowAnswer, "get_window", "Get a window as it was served"))
def show_window(session_id: SessionId, window_id: WindowId, call: BodyCall) -> Response:
    """Answer with a window as it was served: messages, tools and certificate."""
    tenant_id = call.caller("read").tenant_id
    with Scope.read(tenant_id) as scope:
        found = load_window(scope, session_id, _uuid(window_id))
    if found is None:
        raise not_found("window")
    facts, body = found
    return _json({**asdict(facts), "answer": None if body is None else orjson.Fragment(body)})


def _uuid(named: str) -> UUID:
    try:
        return UUID(named)
    except ValueError:
        raise not_found("window") from None


def _json(content: dict[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")
