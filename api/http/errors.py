"""Errors as RFC 9457 problem documents: a stable type, a sentence, and helpful numbers."""

import json
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request, Response, status
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException

from api.http.retry import is_done_in_part
from api.http.validation import validation_error
from context.errors import AfterturnError
from models.database import OutcomeUnknownError
from models.errors import Trouble, facts_of, kind_of, trouble_of

log = structlog.get_logger()

STATUS_OF_CODE = {
    "invalid-input": 422,
    "invalid-json": 400,
    "context-over-budget": 422,
    "catalog-over-budget": 422,
    "not-an-overflow": 422,
    "not-this-window": 422,
    "nothing-to-compress": 422,
    "body-incomplete": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "body-timeout": 408,
    "turn-conflict": 409,
    "turn-closed": 409,
    "turn-not-stored": 409,
    "history-conflict": 409,
    "session-exists": 409,
    "plan-not-ready": 409,
    "outcome-conflict": 409,
    "plan-conflict": 409,
    "priors-conflict": 409,
    "too-large": 413,
    "rate-limited": 429,
    "text-key-unavailable": 503,
    "unavailable": 503,
    "internal-error": 500,
}
HELD = "others held the same rows for too long"
REASONS = {
    Trouble.AWAY: "the database does not answer",
    Trouble.FULL: "the database or this machine has no room left",
    Trouble.BROKEN: "the disk of the database fails",
    Trouble.READ_ONLY: "the database takes no changes now; what is stored can still be read",
    Trouble.CONFLICT: HELD,
    Trouble.HELD: HELD,
    Trouble.SLOW: f"{HELD}, or the database is too slow",
    Trouble.GONE: HELD,
}
"""Messages of temporary troubles; other errors are faults of the server."""

NOTHING = "nothing was changed"
PART = "a part of it was done, and the same call does the rest"
UNKNOWN = (
    "it went away while the change was committed: whether it was done is unknown. Read it back, or send the "
    "same call again where that is safe, as it is for turns, and for a reset with an `Idempotency-Key`"
)
FAULT = "this is a fault of ours"
HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}
HEADERS_OF_STATUS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}


class ProblemError(AfterturnError):
    """An error with a code chosen at the place of the error."""

    def __init__(self, code: str, message: str, **numbers: object) -> None:
        """Take any code of `STATUS_OF_CODE`."""
        super().__init__(message, **numbers)
        self.code = code


def not_found(what: str) -> ProblemError:
    """Build the same error for a missing object and for another tenant's object."""
    return ProblemError("not-found", f"there is no such {what}")


def problem(code: str, status_code: int, detail: str, numbers: dict[str, Any] | None = None) -> Response:
    """Write a problem document. The stable members come last, so that no number can replace them."""
    document = {
        **(numbers or {}),
        "type": code,
        "title": code.replace("-", " ").capitalize(),
        "status": status_code,
        "detail": detail,
    }
    headers = {"X-Content-Type-Options": "nosniff", **HEADERS_OF_STATUS.get(status_code, {})}
    if numbers and "retry_after_s" in numbers:
        headers["Retry-After"] = str(numbers["retry_after_s"])
    return Response(_written(document), status_code, headers, "application/problem+json")


def _detail(error: HTTPException) -> str:
    allowed = (error.headers or {}).get("Allow")
    if error.status_code == status.HTTP_404_NOT_FOUND:
        return "there is nothing at this path; ids in a path hold no slash"
    return f"this path takes {allowed} only" if allowed else str(error.detail)


def _written(document: dict[str, Any]) -> bytes:
    """Encode a document; a caller's number may exceed the fast encoder's range."""
    try:
        return orjson.dumps(document, default=str)
    except TypeError:
        return json.dumps(document, default=str).encode()


def problem_of(error: AfterturnError) -> dict[str, Any]:
    """The members of a problem document, for a line of a batch."""
    status_code = STATUS_OF_CODE.get(error.code, 500)
    return {**error.numbers, "type": error.code, "status": status_code, "detail": error.message}


def unavailable(error: Exception) -> ProblemError | None:
    """Build the error of a database in trouble; None for a fault of the server.

    The trouble is logged too. The answer's `outcome` is "none", "part" or "unknown".
    """
    trouble = trouble_of(error)
    if trouble is None or trouble not in REASONS:
        return None
    if REASONS[trouble].startswith(HELD):
        log.warning("rows_held", trouble=trouble, error=kind_of(error))
    else:
        log.warning("database_unavailable", trouble=trouble, error=kind_of(error))
    if isinstance(error, OutcomeUnknownError):
        return ProblemError("unavailable", f"{REASONS[trouble]}; {UNKNOWN}", outcome="unknown")
    return ProblemError("unavailable", f"{REASONS[trouble]}; {_so_far()}, try again", **_outcome())


def held() -> ProblemError:
    """Build the error of a call refused before its start, because others hold the same row."""
    return ProblemError("unavailable", f"{HELD}; {NOTHING}, try again", outcome="none")


def fault() -> ProblemError:
    """Build the error of a server fault, with nothing but the call's outcome."""
    return ProblemError("internal-error", f"{FAULT}; {_so_far()}", **_outcome())


def known(error: Exception, **about: object) -> AfterturnError:
    """Build the error that a caller may see; an unexpected error is logged, and not described.

    Args:
        error: The raised error.
        about: Names of the call, for the log.
    """
    if isinstance(error, AfterturnError):
        return error
    told = unavailable(error)
    if told is None:
        log.error("request_failed", **about, **facts_of(error))
        told = fault()
    return told


def _so_far() -> str:
    return PART if is_done_in_part() else NOTHING


def _outcome() -> dict[str, str]:
    return {"outcome": "part" if is_done_in_part() else "none"}


def install(app: FastAPI) -> None:
    """Answer every error with a problem document, without a thread, since all threads may be waiting."""

    @app.exception_handler(AfterturnError)
    async def _known(_: Request, error: AfterturnError) -> Response:
        return _document(error)

    @app.exception_handler(RequestValidationError)
    async def _schema(_: Request, error: RequestValidationError) -> Response:
        return _document(validation_error(error))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        code = HTTP_CODES.get(error.status_code, "http-error")
        answer = problem(code, error.status_code, _detail(error))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(PoolTimeoutError)
    @app.exception_handler(DBAPIError)
    @app.exception_handler(Exception)
    async def _unknown(_: Request, error: Exception) -> Response:
        return _document(known(error))


def _document(error: AfterturnError) -> Response:
    return problem(error.code, STATUS_OF_CODE.get(error.code, 500), error.message, error.numbers)
