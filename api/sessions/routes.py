"""A session's state and summaries; rollback and reset."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Request, Response

from api.answers.base import answers
from api.answers.sessions import ResetAnswer, SessionStanding, SummaryVersions
from api.context.answer import freshness
from api.http.call import BodyCall, IdempotencyKey, SessionId, digest_of, number_in_path, number_schema
from api.http.errors import committed, not_found
from api.http.waiting import CHANGES_SESSION
from models.conversations.kept_summaries import added_ranges
from models.conversations.listing import count_turns
from models.conversations.reset import reset_session
from models.conversations.session import find_session
from models.conversations.session_state import SessionState
from models.conversations.standing import find_standing
from models.conversations.summary import Summary, activate_version, list_summaries, retire_summaries
from models.database import Transaction, read_transaction
from models.due_work.queue import DueWork, WorkKind, find_work
from models.due_work.waiting import forget_refusals

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
    with read_transaction() as db:
        standing = find_standing(db, caller.tenant_id, session_id)
        work = find_work(db, caller.tenant_id, WorkKind.SUMMARIZE, session_id)
        turns = count_turns(db, caller.tenant_id, session_id)
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
    with read_transaction() as db:
        if find_standing(db, caller.tenant_id, session_id) is None:
            raise not_found("session")
        summaries = list_summaries(db, caller.tenant_id, session_id)
    return _json({"summaries": _summaries(summaries)})


@router.post(
    "/summaries/{version}/activate",
    dependencies=CHANGES_SESSION,
    **answers(SummaryVersions, "activate_summary", "Roll back to a version of a summary"),
)
def activate_summary(session_id: SessionId, version: Version, call: BodyCall) -> Response:
    """Put an earlier version in force again; later turns are raw again."""
    caller = call.caller("write")

    def activate(db: Transaction) -> list[Summary]:
        if not activate_version(db, caller.tenant_id, session_id, version):
            raise not_found("summary of this session that could be put in force")
        return list_summaries(db, caller.tenant_id, session_id)

    return _json({"summaries": _summaries(committed(activate))})


@router.post(
    "/reset", dependencies=CHANGES_SESSION, **answers(ResetAnswer, "reset_session", "Reset a session")
)
def start_over(session_id: SessionId, call: BodyCall, idempotency_key: IdempotencyKey = None) -> Response:
    """Start the session empty and keep its log; running work for the old state is dropped.

    With an `Idempotency-Key` the call can be repeated: a repeated call resets nothing, and answers with
    `repeated`.
    """
    caller = call.caller("write")
    key = digest_of(idempotency_key)

    def reset(db: Transaction) -> tuple[SessionState, bool]:
        session = reset_session(db, caller.tenant_id, session_id, key=key)
        if session is None:
            session = find_session(db, caller.tenant_id, session_id)
            if session is None:
                raise not_found("session")
            return session, True
        retire_summaries(db, caller.tenant_id, session)
        forget_refusals(db, caller.tenant_id, WorkKind.SUMMARIZE, session_id)
        return session, False

    session, is_repeated = committed(reset)
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
