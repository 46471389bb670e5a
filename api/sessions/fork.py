"""Fork of a session at a turn: two conversations with the same beginning."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.answers.base import ApiAnswer, answers
from api.http.call import Body, BodyCall, SessionId, documented
from api.http.errors import ProblemError, committed, not_found
from api.http.values import check_id
from api.http.waiting import CHANGES_SESSION
from api.sessions.sync import load_visible, revision_of
from api.turns.intake import enqueue_of_sessions
from models.conversations.fork import Fork, fork_session
from models.conversations.session import lock_existing, lock_sessions
from models.conversations.session_state import SessionState
from models.conversations.turn_places import StoredTurn, find_turn, newest_turn
from models.database import Transaction

router = APIRouter(prefix="/v1/sessions/{session_id}", tags=["sessions"])


class ForkOrder(Body):
    """A new session, and the end of its common history."""

    session_id: str = Field(description="The id of the new session.")
    after_turn: str | None = Field(None, description="The last common turn; without it, the newest.")


class ForkAnswer(ApiAnswer):
    """A session that began as a copy."""

    session_id: str
    forked_from: str
    last_turn_id: str
    last_seq: int = Field(description="The last message; messages keep their numbers.")
    summary_version: int | None = Field(description="The summary in force in the new session; null for none.")
    revision: str = Field(description="The state of the new session's log.")
    repeated: bool = Field(description="Whether the fork was there already.")


@router.post(
    "/fork",
    openapi_extra=documented(ForkOrder),
    dependencies=CHANGES_SESSION,
    **answers(ForkAnswer, "fork_session", "Fork a session at a turn"),
)
def fork(session_id: SessionId, call: BodyCall) -> Response:
    """Begin a session with the history of another session up to a turn; both go on by themselves.

    The summary is copied as far as it covers common turns; large results are shared. The call can be repeated
    until the new session goes on.
    """
    tenant_id = call.caller("write").tenant_id
    order = call.body(ForkOrder)
    target_id = check_id(order.session_id, "session_id")
    if target_id == session_id:
        raise ProblemError(
            "invalid-input", "session_id: must be another session than the forked one", field="session_id"
        )

    def copy(db: Transaction) -> dict[str, Any]:
        source = lock_existing(db, tenant_id, [session_id]).get(session_id)
        if source is None:
            raise not_found("session")
        last = (
            newest_turn(db, tenant_id, source)
            if order.after_turn is None
            else find_turn(db, tenant_id, session_id, order.after_turn)
        )
        if last is None or last.first_seq <= source.start_seq:
            raise not_found("turn since the last reset")
        target, is_new = _begin(db, tenant_id, target_id)
        if not is_new:
            return _repeated(source, target, last, newest_turn(db, tenant_id, target))
        messages = load_visible(db, tenant_id, replace(source, last_seq=last.last_seq))
        if not messages:
            raise not_found("message up to this turn")
        done = fork_session(db, tenant_id, source, target, last=last, messages=messages)
        enqueue_of_sessions(db, tenant_id, [done.session], named=[target_id] if done.users else [])
        return _answer(source, done, last, is_repeated=False)

    return Response(orjson.dumps(committed(copy)), media_type="application/json")


def _begin(db: Transaction, tenant_id: UUID, target_id: str) -> tuple[SessionState, bool]:
    """Lock the new session, and tell whether it is new.

    The caller holds the source, so of two equal forks the later one sees all of the earlier one. A turn that
    comes for the new session at the same time may be first all the same.
    """
    found = lock_existing(db, tenant_id, [target_id]).get(target_id)
    if found is not None:
        return found, False
    begun = lock_sessions(db, tenant_id, [target_id])[target_id]
    return begun, begun.last_turn_index == 0


def _repeated(
    source: SessionState, target: SessionState, last: StoredTurn, theirs: StoredTurn | None
) -> dict[str, Any]:
    """Answer a repeated fork.

    Raises:
        ProblemError: The session is another one, or went on.
    """
    is_same = theirs is not None and (theirs.turn_id, theirs.turn_index, theirs.last_seq) == (
        last.turn_id,
        last.turn_index,
        last.last_seq,
    )
    if not is_same or target.start_seq != source.start_seq:
        raise ProblemError(
            "session-exists",
            f"session_id: {target.session_id!r} exists already; fork into a new session",
            field="session_id",
        )
    version = 1 if target.summarized_seq else None
    return _answer(source, Fork(target, version, users=False), last, is_repeated=True)


def _answer(source: SessionState, done: Fork, last: StoredTurn, *, is_repeated: bool) -> dict[str, Any]:
    return {
        "session_id": done.session.session_id,
        "forked_from": source.session_id,
        "last_turn_id": last.turn_id,
        "last_seq": last.last_seq,
        "summary_version": done.summary_version,
        "revision": revision_of(done.session),
        "repeated": is_repeated,
    }
