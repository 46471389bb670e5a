"""Contexts of many sessions in one call, each answered by itself."""

import time
from typing import Any

import orjson
from fastapi import APIRouter, Response, status
from starlette.background import BackgroundTasks

from api.answers.base import answers
from api.answers.context import BatchedContexts
from api.context.routes import ContextCall, answer_context
from api.http.call import BatchCall, documented, read_as
from api.http.caller_limits import limits
from api.http.errors import ProblemError, known, problem_of
from api.http.values import check_id
from api.settings import api_settings
from api.turns.routes import lines_of
from models.tenants.tenant import Caller

router = APIRouter(prefix="/v1", tags=["context"])

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
    """A batch while it is answered; one line after the other, in the place and thread of one call."""

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
