"""Turn events over HTTP: single or in batches of lines; replaced, deleted and truncated."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Path, Response, status
from pydantic import Field
from starlette.background import BackgroundTask, BackgroundTasks

from api.answers.base import ApiAnswer, answers
from api.answers.sessions import BatchResults, TurnReceipt
from api.context.reported_usage import checking, learning
from api.http.call import (
    Body,
    Call,
    ChangeBatch,
    ChangeCall,
    SessionId,
    documented,
    read_as,
)
from api.http.errors import ProblemError, committed, not_found, problem_of
from api.http.values import check_id
from api.http.waiting import CHANGES_SESSION, CHANGES_SESSIONS
from api.model_limits import raising
from api.sessions.sync import edit_turn, revision_of
from api.settings import api_settings
from api.turns.intake import (
    Intake,
    TurnBody,
    TurnCompleted,
    TurnOfSession,
    conflict,
    describe_messages,
    read_turn,
    receipt,
    store_turns,
)
from api.turns.large_results import restore_messages
from context.conversation.compare import compare_histories
from context.errors import AfterturnError
from context.types import Message
from models.conversations.accept import StoredTurn, find_turn, newest_turn
from models.conversations.history import load_oldest
from models.conversations.log import AcceptedTurn, NewTurn
from models.conversations.session import lock_existing
from models.conversations.session_state import SessionState
from models.erasure.log import Receipt
from models.erasure.messages import Changed
from models.erasure.sessions import merged, remove_span
from models.scope import Scope
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
def complete_turn(session_id: SessionId, call: ChangeCall) -> Response:
    """Record a finished turn and its resulting work; 202 after the commit, 200 for a repeated delivery."""
    caller = call.caller("write")
    event, cleaned = read_as(TurnCompleted, call.raw)
    intake = read_turn(session_id, event, cleaned=cleaned)
    [accepted] = committed(caller.tenant_id, lambda scope: store_turns(scope, [intake.turn]))
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
def complete_turns(call: ChangeBatch) -> Response:
    """Record many turns: newline-delimited JSON, each line with a `session_id`; a result per line."""
    caller = call.caller("write")
    read = [_read_line(line) for line in lines_of(call, api_settings().max_batch_turns)]
    good = [entry for entry in read if isinstance(entry, Intake)]
    events = [entry.turn for entry in good]
    answers = committed(caller.tenant_id, lambda scope: store_turns(scope, events)) if events else []
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


changes = APIRouter(prefix="/v1/sessions/{session_id}", tags=["turns"])


TurnId = Annotated[str, Path(description="The turn, as the platform names it.")]


class ReplacementAnswer(ApiAnswer):
    """The place of a replaced turn, and counts of data deleted with the former words."""

    session_id: str
    turn_id: str
    turn_index: int
    first_seq: int
    last_seq: int
    change: str = Field(description="`replaced`, or `unchanged` if the turn was stored so already.")
    revision: str = Field(description="The state of the session's log.")
    removed: dict[str, int]
    invalidated: dict[str, int]
    requeued: int
    notes: list[str]


class CutAnswer(ApiAnswer):
    """Counts of data deleted with the removed turns."""

    session_id: str
    last_turn_id: str | None = Field(description="The newest turn that is left.")
    revision: str = Field(description="The state of the session's log.")
    removed: dict[str, int]
    invalidated: dict[str, int]
    requeued: int


class Truncation(Body):
    """The end of the conversation from now on."""

    after_turn: str | None = Field(description="The last turn to keep; null keeps none.")
    revision: str | None = Field(
        None,
        max_length=50,
        description="The `revision` of an earlier answer; 409 if the session has changed since.",
    )


@changes.put(
    "/turns/{turn_id}",
    openapi_extra=documented(TurnBody),
    dependencies=CHANGES_SESSION,
    **answers(ReplacementAnswer, "replace_turn", "Replace a turn, or regenerate an answer"),
)
def replace_turn(session_id: SessionId, turn_id: TurnId, call: ChangeCall) -> Response:
    """Replace a stored turn by another under the same id; everything derived from it is made anew.

    The newest turn takes any messages. An earlier turn takes other words with the same calls, each message in
    its place. The same call again changes nothing.
    """
    tenant_id = call.caller("write").tenant_id
    body, cleaned = read_as(TurnBody, call.raw)
    event = TurnCompleted(turn_id=turn_id, **body.model_dump())
    intake = read_turn(session_id, event, cleaned=cleaned)
    given = describe_messages(event.messages, event.wire, speaker=event.speaker)
    place, changes, session = committed(tenant_id, partial(_replace, intake=intake, given=given))
    answer = {
        "session_id": session_id,
        "turn_id": turn_id,
        "turn_index": place.turn_index,
        "first_seq": place.first_seq,
        "last_seq": place.last_seq,
        "change": "replaced" if changes else "unchanged",
        "revision": revision_of(session),
        **merged(changes).as_json(),
        "notes": list(intake.notes),
    }
    later = afterwards(tenant_id, [(intake.turn, place)]) if changes else None
    return Response(orjson.dumps(answer), media_type="application/json", background=later)


def _replace(
    scope: Scope, *, intake: Intake, given: list[Message]
) -> tuple[AcceptedTurn, list[Changed], SessionState]:
    new, session_id = intake.turn, intake.turn.session_id
    session, turn = find_held(scope, session_id, new.turn_id)
    place = AcceptedTurn(
        session_id, turn.turn_id, turn.turn_index, turn.first_seq, turn.last_seq, duplicate=True
    )
    if turn.is_told_by(scope.cells, new):
        return place, [], session
    stored = load_turn(scope, session_id, turn)
    newest = newest_turn(scope, session)
    if newest is None or newest.turn_index != turn.turn_index:
        changes = _edit_in_place(scope, session_id, stored, given)
    else:
        bounds = {"after_seq": turn.first_seq - 1, "up_to_seq": turn.last_seq}
        removed = remove_span(scope, session_id, **bounds)
        [place] = store_turns(scope, [new])
        changes = [removed or Changed(Receipt(), session.generation, [], [])]
    return place, changes, lock_existing(scope, [session_id])[session_id]


def _edit_in_place(
    scope: Scope, session_id: str, stored: list[Message], given: list[Message]
) -> list[Changed]:
    """Edit the messages of an earlier turn.

    Raises:
        ProblemError: The turn has another structure.
    """
    whole = restore_messages(scope, session_id, stored)
    diff = compare_histories(whole, given)
    if diff.removed or diff.new_from < len(given) or len(stored) != len(given):
        raise ProblemError(
            "turn-conflict",
            "turn_id: later turns follow, so that the turn takes other words with the same calls only; go "
            "back to an earlier turn, or fork there",
            field="turn_id",
        )
    return edit_turn(scope, session_id, stored, given)


def find_held(scope: Scope, session_id: str, turn_id: str) -> tuple[SessionState, StoredTurn]:
    """Lock a session, and find one of its turns.

    Raises:
        ProblemError: There is no such session, or no such turn.
    """
    session = lock_existing(scope, [session_id]).get(session_id)
    if session is None:
        raise not_found("session")
    turn = find_turn(scope, session_id, turn_id)
    if turn is None:
        raise not_found("turn")
    return session, turn


def load_turn(scope: Scope, session_id: str, turn: StoredTurn) -> list[Message]:
    """Load the stored messages of a turn."""
    most = turn.last_seq - turn.first_seq + 1
    bounds = {"after_seq": turn.first_seq - 1, "up_to_seq": turn.last_seq, "most": most}
    return load_oldest(scope, session_id, **bounds)


@changes.delete(
    "/turns/{turn_id}",
    dependencies=CHANGES_SESSION,
    **answers(CutAnswer, "delete_turn", "Delete a turn"),
)
def delete_turn(session_id: SessionId, turn_id: TurnId, call: ChangeCall) -> Response:
    """Take a turn out of the conversation, with everything derived from it; its id is free again.

    Results of its calls in later turns go too. For erasure of what a person said, see the calls of messages:
    they keep the id taken.
    """
    tenant_id = call.caller("write").tenant_id

    def delete(scope: Scope) -> dict[str, Any]:
        session, turn = find_held(scope, session_id, turn_id)
        return _cut(scope, session, after_seq=turn.first_seq - 1, up_to_seq=turn.last_seq)

    return Response(orjson.dumps(committed(tenant_id, delete)), media_type="application/json")


@changes.post(
    "/truncate",
    openapi_extra=documented(Truncation),
    dependencies=CHANGES_SESSION,
    **answers(CutAnswer, "truncate_session", "Go back to a turn"),
)
def truncate_session(session_id: SessionId, call: ChangeCall) -> Response:
    """Remove every turn after a turn, with everything derived; the same call again removes nothing."""
    tenant_id = call.caller("write").tenant_id
    cut = call.body(Truncation)

    def truncate(scope: Scope) -> dict[str, Any]:
        if cut.after_turn is None:
            session, after_seq = lock_existing(scope, [session_id]).get(session_id), 0
            if session is None:
                raise not_found("session")
            after_seq = session.start_seq
        else:
            session, turn = find_held(scope, session_id, cut.after_turn)
            after_seq = turn.last_seq
        newest = newest_turn(scope, session)
        if newest is not None and newest.first_seq > after_seq:
            refuse_other_revision(session, cut.revision)
        return _cut(scope, session, after_seq=after_seq, up_to_seq=session.last_seq)

    return Response(orjson.dumps(committed(tenant_id, truncate)), media_type="application/json")


def refuse_other_revision(session: SessionState, revision: str | None) -> None:
    """Refuse a call made for another state of the session.

    Raises:
        ProblemError: The session has changed.
    """
    present = revision_of(session)
    if revision is not None and revision != present:
        raise ProblemError(
            "history-conflict",
            f"revision: the session is at {present!r}, not at {revision[:50]!r}; read the turns, and "
            "decide anew",
            field="revision",
            revision=present,
        )


def _cut(scope: Scope, session: SessionState, *, after_seq: int, up_to_seq: int) -> dict[str, Any]:
    session_id = session.session_id
    changed = remove_span(scope, session_id, after_seq=after_seq, up_to_seq=up_to_seq)
    after = lock_existing(scope, [session_id])[session_id]
    newest = newest_turn(scope, after)
    return {
        "session_id": session_id,
        "last_turn_id": newest.turn_id if newest else None,
        "revision": revision_of(after),
        **merged([changed] if changed else []).as_json(),
    }
