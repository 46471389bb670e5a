"""Reading of a session's log: the raw turns behind a summary."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from api.answers.base import answers
from api.http.call import BodyCall, Parameters, SessionId
from api.http.errors import ProblemError, not_found
from api.settings import api_settings
from api.turns.large_results import restore_messages
from context.types import JsonObject, Wire
from models.conversations.history import LoggedTurn, load_turns
from models.conversations.session import find_session
from models.database import read_transaction

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
    with read_transaction() as db:
        session = find_session(db, caller.tenant_id, session_id)
        if session is None:
            raise not_found("session")
        from_seq, to_seq = _ends(wanted, session.last_seq)
        turns, read_on = load_turns(
            db,
            caller.tenant_id,
            session_id,
            from_seq=from_seq,
            to_seq=to_seq,
            most_messages=settings.max_read_messages,
            most_bytes=settings.max_read_bytes,
        )
        turns = [
            replace(turn, messages=restore_messages(db, caller.tenant_id, session_id, turn.messages))
            for turn in turns
        ]
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
