"""Context of a session for its next request, and contexts of many sessions in one call."""

import time
from contextlib import nullcontext
from dataclasses import replace
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
from api.context.after_answer import keep_afterwards, learn_request
from api.context.fill import FilledWindow, build_window
from api.context.full_history import find_new_part
from api.context.prepare import prepare
from api.context.request import ContextRequest, read_request
from api.context.respond import expectation_of, respond
from api.context.session_request import PreparedRequest, WindowVariant, load_request
from api.context.usage_report import UseOfArtifacts, remember_use
from api.http.call import BatchCall, BodyCall, SessionId, documented, read_as
from api.http.caller_limits import limits
from api.http.errors import ProblemError, known, problem_of
from api.http.values import check_id
from api.http.waiting import wait_for_turn, wait_for_work
from api.settings import api_settings
from api.shadow.record import Shadow, record_shadow, shadow_of
from api.turns.routes import lines_of
from context.certificate import Certificate
from context.shadow.verdict import ShadowPart
from context.tokens.text import LineCounts, counting_with
from context.window.activation import Activation
from models.conversations.standing import SessionSnapshot
from models.database import one_reading_connection
from models.due_work.queue import WorkKind
from models.hints import NO_HINTS
from models.telemetry.counters import Counted, count
from models.tenants.tenant import Caller

router = APIRouter(prefix="/v1", tags=["context"])

_MOST_LINES = 2_048
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
    return answer_context(caller.tenant_id, session_id, request)


def answer_context(tenant_id: UUID, session_id: str, request: ContextCall) -> Response:
    """Answer a context request, without model calls and without waiting for optional work.

    A dry run has the same answer, but nothing is recorded, and no work is waited for.

    Args:
        tenant_id: The caller's tenant.
        session_id: The session to continue.
        request: The request.

    Raises:
        AfterturnError: The request cannot be answered, with the reason.
    """
    records = not request.dry_run
    if request.dry_run:
        request = request.model_copy(update={"wait_ms": 0})
    wait_for_turn(tenant_id, session_id, request.after_turn, request.wait_ms)
    part = find_new_part(tenant_id, session_id, request)
    parsed = read_request(part.request)
    if request.wait_ms:
        wait_for_work(tenant_id, WorkKind.SUMMARIZE, session_id, request.wait_ms)
    # A caller that waits for a plan would hold the connection meanwhile.
    connection = nullcontext() if request.wait_ms else one_reading_connection()
    with connection, counting_with(_line_counts.find(tenant_id, lambda: LineCounts(_MOST_LINES))):
        shadow = shadow_of(tenant_id)
        variant = WindowVariant(shadow.applied, records=records, asks_plans=records)
        loaded = load_request(tenant_id, session_id, part, parsed, variant)
        prepared, activation = _settled(prepare(loaded))
        filled = build_window(prepared)
        answer = respond(filled, activation, shadow=shadow.members)
        if records:
            _conclude(answer, filled, shadow)
    return answer


def _settled(prepared: PreparedRequest) -> tuple[PreparedRequest, Activation | None]:
    """Activate the prepared summary if the request is a good moment; the window is of the state after."""
    standing, variant = prepared.loaded.standing, prepared.variant
    if standing is None:
        return prepared, None
    settled, activation = settle(prepared.tenant_id, standing, prepared.size, keep=variant.records)
    if settled is not standing:
        prepared = prepared.at(settled)
    return prepared.whole, activation if ShadowPart.SUMMARIES in variant.applied else None


def _conclude(answer: Response, filled: FilledWindow, shadow: Shadow) -> None:
    """Store and count an answered request, and leave to the time after the answer what can wait."""
    prepared = filled.prepared
    if prepared.loaded.standing:
        learn_request(prepared.tenant_id, prepared.loaded.standing, prepared.size)
    answer.background = _afterwards(filled, shadow)
    keep_afterwards(answer, filled, call="context")
    _count(prepared.standing, filled.window.certificate)
    if filled.shelving.artifacts:
        count(Counted.PLANNING, filled.shelving.planned.outcome)


def _count(standing: SessionSnapshot | None, certificate: Certificate) -> None:
    """Count the tokens sent, and the history tokens saved by summaries."""
    summarized = standing is not None and certificate.summary_covers is not None
    count(Counted.CONTEXTS, "yes" if summarized else "no")
    count(Counted.CONTEXT_TOKENS, "sent", by=certificate.input_tokens)
    if standing is not None and summarized:
        notes = sum(block.tokens for block in certificate.blocks if block.source == "summary")
        count(Counted.CONTEXT_TOKENS, "saved", by=max(standing.session.summarized_tokens - notes, 0))


def _afterwards(filled: FilledWindow, shadow: Shadow) -> BackgroundTasks | None:
    """Build the tasks after the answer; a lost task is harmless."""
    prepared, loaded = filled.prepared, filled.prepared.loaded
    judged, shelved = prepared.given.judged, filled.window.shelved
    later, use = BackgroundTasks(), None
    if shelved.execution.records and not shadow.tries(ShadowPart.EXTRACTS):
        session = prepared.standing.session if prepared.standing else None
        use = UseOfArtifacts(session, loaded.session_id, loaded.request.model, filled.shelving, shelved)
    hints = judged.hints if judged else NO_HINTS
    hints = replace(hints, session_id=loaded.session_id, expected=expectation_of(filled))
    if use or hints.is_worth_it:
        later.add_task(remember_use, loaded.tenant_id, use, hints)
    if shadow.is_recorded:
        later.add_task(record_shadow, filled, shadow)
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
            found = answer_context(self._caller.tenant_id, request.session_id, patient)
        finally:
            if request.wait_ms:
                self._waited_ms += int((time.monotonic() - began) * 1_000)
        if isinstance(found.background, BackgroundTasks):
            self.later.tasks += found.background.tasks
        return bytes(found.body)
