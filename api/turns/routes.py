"""Turn events: single or in batches of newline-delimited JSON."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Response, status
from starlette.background import BackgroundTask, BackgroundTasks

from api.answers.base import answers
from api.answers.sessions import BatchResults, TurnReceipt
from api.context.reported_usage import checking, learning
from api.http.call import BatchCall, BodyCall, Call, SessionId, documented, read_as
from api.http.errors import ProblemError, committed, problem_of
from api.http.values import check_id
from api.http.waiting import CHANGES_SESSION, CHANGES_SESSIONS
from api.model_limits import raising
from api.settings import api_settings
from api.turns.intake import (
    Intake,
    TurnCompleted,
    TurnOfSession,
    conflict,
    read_turn,
    receipt,
    store_turns,
)
from context.errors import AfterturnError
from models.conversations.log import AcceptedTurn, NewTurn
from models.telemetry.counters import Counted, count


def lines_of(call: Call, most: int) -> list[bytes]:
    """Split the body of a call at its line breaks, without empty lines.

    Raises:
        ProblemError: The body has more than `most` lines.
    """
    lines = [line for line in call.raw.split(b"\n") if line.strip()]
    if len(lines) > most:
        raise ProblemError("too-large", f"body: more than {most} lines", field="body", limit=most)
    return lines


router = APIRouter(prefix="/v1", tags=["turns"])


@router.post(
    "/sessions/{session_id}/turns",
    status_code=status.HTTP_202_ACCEPTED,
    openapi_extra=documented(TurnCompleted),
    dependencies=CHANGES_SESSION,
    **answers(TurnReceipt, "record_turn", "Record a turn", s200="The turn was stored already."),
)
def complete_turn(session_id: SessionId, call: BodyCall) -> Response:
    """Record a finished turn and its resulting work; 202 after the commit, 200 for a repeated delivery."""
    caller = call.caller("write")
    event, cleaned = read_as(TurnCompleted, call.raw)
    intake = read_turn(session_id, event, cleaned=cleaned)
    [accepted] = committed(lambda db: store_turns(db, caller.tenant_id, [intake.turn]))
    _count([accepted])
    if accepted.conflict:
        raise conflict(accepted)
    code = status.HTTP_200_OK if accepted.duplicate else status.HTTP_202_ACCEPTED
    later = afterwards(caller.tenant_id, [(intake.turn, accepted)])
    return _json(receipt(accepted, intake.notes), code, later)


@router.post(
    "/turns",
    openapi_extra=documented(TurnOfSession, "application/x-ndjson"),
    dependencies=CHANGES_SESSIONS,
    **answers(BatchResults, "record_turns", "Record many turns"),
)
def complete_turns(call: BatchCall) -> Response:
    """Record many turns: newline-delimited JSON, each line with a `session_id`; a result per line."""
    caller = call.caller("write")
    read = [_read_line(line) for line in lines_of(call, api_settings().max_batch_turns)]
    good = [entry for entry in read if isinstance(entry, Intake)]
    events = [entry.turn for entry in good]
    answers = committed(lambda db: store_turns(db, caller.tenant_id, events)) if events else []
    _count(answers)
    stored = iter(answers)
    results: list[dict[str, Any]] = []
    for entry in read:
        if isinstance(entry, AfterturnError):
            results.append({"error": problem_of(entry)})
            continue
        accepted = next(stored)
        if accepted.conflict:
            results.append({"error": problem_of(conflict(accepted))})
        else:
            results.append(receipt(accepted, entry.notes))
    for number, result in enumerate(results, 1):
        result["line"] = number
    turns = list(zip((entry.turn for entry in good), answers, strict=True))
    return _json({"results": results}, after=afterwards(caller.tenant_id, turns))


def afterwards(tenant_id: UUID, stored: Sequence[tuple[NewTurn, AcceptedTurn]]) -> BackgroundTasks | None:
    """Build the tasks of learning from reported usage; None without any report."""
    learned = (raising(tenant_id, stored), learning(tenant_id, stored), checking(tenant_id, stored))
    tasks = [task for task in learned if task]
    return BackgroundTasks(tasks) if tasks else None


def _count(answers: Sequence[AcceptedTurn]) -> None:
    count(Counted.TURNS, by=sum(not (answer.duplicate or answer.conflict) for answer in answers))


def _read_line(line: bytes) -> Intake | AfterturnError:
    try:
        event, cleaned = read_as(TurnOfSession, line)
        return read_turn(check_id(event.session_id, "session_id"), event, cleaned=cleaned)
    except AfterturnError as error:
        return error


def _json(content: Any, code: int = status.HTTP_200_OK, after: BackgroundTask | None = None) -> Response:
    return Response(orjson.dumps(content), code, media_type="application/json", background=after)
