"""Context of a session for its next request, and contexts of many sessions in one call."""

import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Response, status
from pydantic import Field
from starlette.background import BackgroundTasks

from api.answers.base import answers
from api.answers.context import BatchedContexts, ContextWindow
from api.cache import RecentCache
from api.context.activation import settle
from api.context.after_answer import keep_afterwards, learn_request, may_be_ridden, remember_prefix
from api.context.ahead import read_ahead_for
from api.context.fill import FilledWindow, WindowQuery, fill_window, load_tail
from api.context.full_history import NewPart, find_new_part, stand_under
from api.context.prepare import RequestPlace, prepare
from api.context.request import (
    ContextRequest,
    ParsedRequest,
    ask,
    budget_of,
    find_limits,
    read_request,
    with_known_window,
)
from api.context.respond import ResponseInputs, expectation_of, respond
from api.context.usage_report import UseOfArtifacts, remember_use
from api.http.call import BatchCall, BodyCall, SessionId, documented, read_as
from api.http.caller_limits import limits
from api.http.errors import ProblemError, known, problem_of
from api.http.values import check_id
from api.http.waiting import wait_for_turn, wait_for_work
from api.settings import api_settings
from api.shadow.record import BuiltWindow, Shadow, VariantQuery, as_shown, record_shadow, shadow_of
from api.turns.routes import lines_of
from context.certificate import Certificate
from context.shadow.verdict import ShadowPart
from context.tokens.text import LineCounts, counting_with
from models.conversations.standing import SessionSnapshot
from models.database import one_reading_connection, read_transaction
from models.due_work.queue import WorkKind
from models.hints import NO_HINTS
from models.learning.cache_found import Expectation
from models.telemetry.counters import Counted, count
from models.telemetry.tracing import span
from models.tenants.tenant import Caller

router = APIRouter(prefix="/v1", tags=["context"])

_MOST_LINES = 4_096
_line_counts = RecentCache[UUID, LineCounts](lambda: 32)
"""Counts of lines in a tenant's windows; no time tells a tenant of another's lines."""


class ContextCall(ContextRequest):
    """A context request, or a preview of its answer."""

    dry_run: bool = Field(
        default=False, description="Answer and leave no trace: the request is neither remembered nor counted."
    )


@router.post(
    "/sessions/{session_id}/context",
    openapi_extra=documented(ContextCall),
    **answers(ContextWindow, "build_context", "Build the context of the next request"),
)
def read_context(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with the newest summary in force, artifacts and the raw turns after, within the budget."""
    caller = call.caller("read")
    request = call.body(ContextCall)
    return answer_context(caller.tenant_id, session_id, request, is_trial=request.dry_run)


def answer_context(
    tenant_id: UUID, session_id: str, request: ContextRequest, *, is_trial: bool = False
) -> Response:
    """Answer a context request, without model calls and without waiting for optional work.

    Args:
        tenant_id: The caller's tenant.
        session_id: The session to continue.
        request: The request.
        is_trial: True for a trial: the answer is the same, but nothing is recorded, and no work is waited
            for.

    Raises:
        AfterturnError: The request cannot be answered, with the reason.
    """
    if is_trial:
        request = request.model_copy(update={"wait_ms": 0})
    wait_for_turn(tenant_id, session_id, request.after_turn, request.wait_ms)
    part = find_new_part(tenant_id, session_id, request)
    request, given = part.request, read_request(part.request)
    if request.wait_ms:
        wait_for_work(tenant_id, WorkKind.SUMMARIZE, session_id, request.wait_ms)
    # A caller that waits for a plan would hold the connection meanwhile.
    connection = nullcontext() if request.wait_ms else one_reading_connection()
    with connection, counting_with(_line_counts.find(tenant_id, lambda: LineCounts(_MOST_LINES))):
        return _answer(tenant_id, session_id, part, given, is_trial=is_trial)


def _answer(
    tenant_id: UUID, session_id: str, part: NewPart[ContextRequest], given: ParsedRequest, *, is_trial: bool
) -> Response:
    request = part.request
    shadow, read = shadow_of(tenant_id), given
    with span("load standing"), read_transaction() as db:
        ahead = read_ahead_for(db, tenant_id, session_id, request, given, applied=shadow.applied)
        standing = ahead.standing if ahead else None
        limits = find_limits(db, tenant_id, request.model, session_id, standing)
    request = with_known_window(tenant_id, request, standing)
    budget = budget_of(request, limits)
    under = partial(stand_under, tenant_id, request=request, new=given.new, budget=budget)
    standing = part.before(under(standing))
    shown = as_shown(standing, shadow.applied)
    tail = load_tail(tenant_id, shown, request.model, budget, ahead)
    with span("rank tools"):
        place = RequestPlace(tenant_id, session_id, tail.messages, ahead)
        given = prepare(place, request, given, budget, shadow.applied, is_trial=is_trial)
    asked, before = ask(request, given, limits, standing), standing
    standing, activation = settle(tenant_id, standing, asked, keep=not is_trial) if standing else (None, None)
    is_same = standing is before
    if not is_same:  # it was read again: the window is of that moment, whoever changed the session meanwhile
        standing = part.before(under(standing))
        shown = as_shown(standing, shadow.applied)
    if ShadowPart.SUMMARIES not in shadow.applied:
        activation = None
    sought = WindowQuery(
        tenant_id,
        request,
        given,
        shown,
        asked.budget,
        shadow.applied,
        is_trial=is_trial,
        ahead=ahead if is_same else None,
    )
    filled = fill_window(sought, tail if is_same else None)
    if standing and not is_trial:
        learn_request(tenant_id, standing, asked)
    said = shadow.members
    answering = ResponseInputs(
        tenant_id, request, given, filled, shown, asked, limits, activation, prepared=standing, shadow=said
    )
    answer = respond(answering)
    if is_trial:
        return answer
    asking = VariantQuery(tenant_id, session_id, request, read, standing, limits)
    answer.background = _afterwards(sought, filled, asking, shadow, expectation_of(answering))
    keep_afterwards(answer, session_id, answering, call="context")
    _count(shown, filled.window.certificate)
    if filled.shelving.artifacts:
        count(Counted.PLANNING, filled.shelving.planned.outcome)
    return answer


def _count(standing: SessionSnapshot | None, certificate: Certificate) -> None:
    """Count the tokens sent, and the history tokens saved by summaries."""
    summarized = standing is not None and certificate.summary_covers is not None
    count(Counted.CONTEXTS, "yes" if summarized else "no")
    count(Counted.CONTEXT_TOKENS, "sent", by=certificate.input_tokens)
    if standing is not None and summarized:
        notes = sum(block.tokens for block in certificate.blocks if block.source == "summary")
        count(Counted.CONTEXT_TOKENS, "saved", by=max(standing.session.summarized_tokens - notes, 0))


def _afterwards(
    sought: WindowQuery,
    filled: FilledWindow,
    asking: VariantQuery,
    shadow: Shadow,
    expected: Expectation | None,
) -> BackgroundTasks | None:
    """Build the tasks after the answer; a lost task is harmless."""
    judged, shelved = sought.given.judged, filled.window.shelved
    later, use = BackgroundTasks(), None
    if shelved.execution.records and not shadow.tries(ShadowPart.EXTRACTS):
        session = sought.standing.session if sought.standing else None
        use = UseOfArtifacts(session, asking.session_id, asking.request.model, filled.shelving, shelved)
    hints = replace(judged.hints if judged else NO_HINTS, session_id=asking.session_id, expected=expected)
    if use or hints.is_worth_it:
        later.add_task(remember_use, sought.tenant_id, use, hints)
    if may_be_ridden(sought):
        later.add_task(remember_prefix, sought.tenant_id, sought, filled)
    if shadow.is_recorded:
        later.add_task(record_shadow, asking, BuiltWindow(sought.given, filled), shadow)
    return later if later.tasks else None


MOST_S = 30.0
"""Time after which a batch begins no further line, in seconds."""


class ContextOfSession(ContextCall):
    """A line of a batch: a context request with its session's id."""

    session_id: str


@router.post(
    "/contexts",
    openapi_extra=documented(ContextOfSession, "application/x-ndjson"),
    **answers(BatchedContexts, "build_contexts", "Build the contexts of many sessions"),
)
def read_contexts(call: BatchCall) -> Response:
    """Answer many context requests: newline-delimited JSON, each line with a `session_id`; a result per line.

    Each line has the status and the error of the call alone, and harms no other line. A line counts as a call
    of the key; the waits of all lines together last as long as the longest `wait_ms` of a call.
    """
    caller = call.caller("read")
    lines = lines_of(call, api_settings().max_batch_contexts)
    batch = _Batch(caller)
    results = [{"line": number, **batch.answer(line)} for number, line in enumerate(lines, 1)]
    return Response(
        orjson.dumps({"results": results}, default=str), media_type="application/json", background=batch.later
    )


class _Batch:
    """A batch in progress: lines are answered in order, within the place and thread of a single call."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._began = time.monotonic()
        self._waited_ms = 0
        self._answered = 0
        self.later = BackgroundTasks()

    def answer(self, line: bytes) -> dict[str, Any]:
        """Answer a line with its status, and a context or an error."""
        named: dict[str, Any] = {}
        try:
            self._admit()
            request, _ = read_as(ContextOfSession, line)
            named["session_id"] = check_id(request.session_id, "session_id")
            found = self._context(request)
        except Exception as error:  # noqa: BLE001 (any error of a line belongs to the line alone)
            problem = problem_of(known(error))
            return {**named, "status": problem["status"], "error": problem}
        return {**named, "status": status.HTTP_200_OK, "context": orjson.Fragment(found)}

    def _admit(self) -> None:
        """Count a line as a call; the first is counted with the batch.

        Raises:
            ProblemError: The key is over its rate limit, or the batch takes too long.
        """
        self._answered += 1
        if self._answered > 1:
            limits.charge(self._caller.key_id)
        if time.monotonic() - self._began > MOST_S:
            raise ProblemError(
                "unavailable",
                f"the lines before took more than {MOST_S:g} s; send this line again",
                retry_after_s=1,
            )

    def _context(self, request: ContextOfSession) -> bytes:
        left_ms = max(api_settings().max_wait_ms - self._waited_ms, 0)
        began = time.monotonic()
        patient = request.model_copy(update={"wait_ms": min(request.wait_ms, left_ms)})
        try:
            found = answer_context(
                self._caller.tenant_id, request.session_id, patient, is_trial=request.dry_run
            )
        finally:
            if request.wait_ms:
                self._waited_ms += int((time.monotonic() - began) * 1_000)
        if isinstance(found.background, BackgroundTasks):
            self.later.tasks += found.background.tasks
        return bytes(found.body)
