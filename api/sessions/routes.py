"""A session's state and summaries; rollback, reset, and a fork at a turn."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import Field

from api.answers.base import ApiAnswer, answers
from api.answers.sessions import ResetAnswer, SessionStanding, SummaryVersions
from api.context.respond import freshness
from api.http.call import (
    Body,
    BodyCall,
    ChangeCall,
    IdempotencyKey,
    SessionId,
    digest_of,
    documented,
    number_in_path,
    number_schema,
)
from api.http.errors import ProblemError, committed, not_found
from api.http.values import check_id
from api.http.waiting import CHANGES_SESSION
from api.sessions.sync import load_visible, revision_of
from models.conversations.accept import StoredTurn, find_turn, newest_turn
from models.conversations.fork import Fork, fork_session
from models.conversations.kept_summaries import added_ranges
from models.conversations.listing import count_turns
from models.conversations.session import find_session, lock_existing, lock_sessions
from models.conversations.session_notes import reset_session
from models.conversations.session_state import SessionState
from models.conversations.standing import find_standing
from models.conversations.summary import Summary, activate_version, list_summaries, retire_summaries
from models.due_work.queue import DueWork, WorkKind, find_work
from models.due_work.waiting import forget_refusals
from models.following_work import enqueue_of_sessions
from models.scope import Scope

router = APIRouter(prefix="/v1/sessions/{session_id}", tags=["sessions"])

_MOST_VERSION = 2**31 - 1


async def _version(
    request: Request,
    version: Annotated[
        str,
        Path(
            description="A version, as the list of summaries names it.",
            json_schema_extra=number_schema(_MOST_VERSION),
        ),
    ],
) -> int:
    return number_in_path(request, version, "version", _MOST_VERSION)


Version = Annotated[int, Depends(_version)]


@router.get("", **answers(SessionStanding, "get_session", "Get the state of a session"))
def show_session(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with the session's state: extent of log and summary, due work, failures."""
    caller = call.caller("read")
    with Scope.read(caller.tenant_id) as scope:
        standing = find_standing(scope, session_id)
        work = find_work(scope, WorkKind.SUMMARIZE, session_id)
        turns = count_turns(scope, session_id)
    if standing is None:
        raise not_found("session")
    session = standing.session
    return _json(
        {
            "session_id": session_id,
            "generation": session.generation,
            "turns": turns,
            "last_turn_at": session.last_turn_at,
            "model": session.model,
            "context_window": session.context_window,
            "history_limit": session.history_limit,
            "tokens": {
                "history": session.history_tokens,
                "raw": session.raw_tokens,
                "summarized": session.summarized_tokens,
                "summary": session.summary_tokens,
                "raw_with_prepared": session.prepared_load.raw_tokens,
                "system_prompt": session.system_tokens,
                "tools": session.tools_tokens,
            },
            "left_out": session.left_out,
            "freshness": freshness(standing),
            "due_work": [_work(work)] if work else [],
            "breaker": _breaker(work, standing.now),
            "last_errors": [work.last_error] if work and work.last_error else [],
        }
    )


@router.get("/summaries", **answers(SummaryVersions, "list_summaries", "List versions of a summary"))
def show_summaries(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with every version of the summary, newest first, rejected versions with the reason."""
    caller = call.caller("read")
    with Scope.read(caller.tenant_id) as scope:
        if find_standing(scope, session_id) is None:
            raise not_found("session")
        summaries = list_summaries(scope, session_id)
    return _json({"summaries": _summaries(summaries)})


@router.post(
    "/summaries/{version}/activate",
    dependencies=CHANGES_SESSION,
    **answers(SummaryVersions, "activate_summary", "Roll back to a version of a summary"),
)
def activate_summary(session_id: SessionId, version: Version, call: ChangeCall) -> Response:
    """Put an earlier version in force again; later turns are raw again."""
    caller = call.caller("write")

    def activate(scope: Scope) -> list[Summary]:
        if not activate_version(scope, session_id, version):
            raise not_found("summary of this session that could be put in force")
        return list_summaries(scope, session_id)

    return _json({"summaries": _summaries(committed(caller.tenant_id, activate))})


@router.post(
    "/reset", dependencies=CHANGES_SESSION, **answers(ResetAnswer, "reset_session", "Reset a session")
)
def start_over(session_id: SessionId, call: ChangeCall, idempotency_key: IdempotencyKey = None) -> Response:
    """Start the session empty and keep its log; running work for the old state is dropped.

    With an `Idempotency-Key` the call can be repeated: a repeated call resets nothing, and answers with
    `repeated`.
    """
    caller = call.caller("write")
    key = digest_of(idempotency_key)

    def reset(scope: Scope) -> tuple[SessionState, bool]:
        session = reset_session(scope, session_id, key=key)
        if session is None:
            session = find_session(scope, session_id)
            if session is None:
                raise not_found("session")
            return session, True
        retire_summaries(scope, session)
        forget_refusals(scope, WorkKind.SUMMARIZE, session_id)
        return session, False

    session, is_repeated = committed(caller.tenant_id, reset)
    return _json(
        {
            "session_id": session_id,
            "generation": session.generation,
            "starts_after": session.start_seq,
            **({"repeated": True} if is_repeated else {}),
        }
    )


def _work(work: DueWork) -> dict[str, Any]:
    return {
        "kind": work.kind,
        "state": work.state,
        "due_at": work.due_at,
        "attempts": work.attempts,
        "crashes": work.crashes,
        "last_error": work.last_error,
        "last_outcome": work.last_outcome,
        "finished_at": work.finished_at,
    }


def _breaker(work: DueWork | None, now: datetime) -> dict[str, Any]:
    """Describe the breaker: the end of the pause after refused summaries, and the reason."""
    rests = work is not None and work.rests_until is not None and work.rests_until > now
    return {
        "open_until": work.rests_until if work and rests else None,
        "reason": work.refused_because if work else None,
        "refusals": work.refusals if work else 0,
    }


def _summaries(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Write every version; `adds` names the messages added to the base, readable as raw turns."""
    added = added_ranges(summaries)
    return [{**_summary(summary), "adds": added[summary.version]} for summary in summaries]


def _summary(summary: Summary) -> dict[str, Any]:
    fields = (
        "version",
        "generation",
        "state",
        "from_seq",
        "to_seq",
        "base_version",
        "text",
        "tokens",
        "covered_tokens",
        "model",
        "method",
        "prompt_version",
        "language",
        "created_at",
        "activated_at",
        "rejected_because",
        "tainted",
    )
    return {field: getattr(summary, field) for field in fields}


def _json(content: Any) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")


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
def fork(session_id: SessionId, call: ChangeCall) -> Response:
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

    def copy(scope: Scope) -> dict[str, Any]:
        source = lock_existing(scope, [session_id]).get(session_id)
        if source is None:
            raise not_found("session")
        last = (
            newest_turn(scope, source)
            if order.after_turn is None
            else find_turn(scope, session_id, order.after_turn)
        )
        if last is None or last.first_seq <= source.start_seq:
            raise not_found("turn since the last reset")
        target, is_new = _begin(scope, target_id)
        if not is_new:
            return _repeated(source, target, last, newest_turn(scope, target))
        messages = load_visible(scope, replace(source, last_seq=last.last_seq))
        if not messages:
            raise not_found("message up to this turn")
        done = fork_session(scope, source, target, last=last, messages=messages)
        enqueue_of_sessions(scope, [done.session], named=[target_id] if done.users else [])
        return _answer(source, done, last, is_repeated=False)

    return Response(orjson.dumps(committed(tenant_id, copy)), media_type="application/json")


def _begin(scope: Scope, target_id: str) -> tuple[SessionState, bool]:
    """Lock the new session, and tell whether it is new.

    The caller holds the source, so of two equal forks the later one sees all of the earlier one. A turn that
    comes for the new session at the same time may be first all the same.
    """
    found = lock_existing(scope, [target_id]).get(target_id)
    if found is not None:
        return found, False
    begun = lock_sessions(scope, [target_id])[target_id]
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
