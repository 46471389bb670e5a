"""Errors as RFC 9457 problem documents: a stable type, a sentence, numbers where they help."""

import json
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request, Response, status
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException

from api.tries import is_contention
from api.validation import validation_error
from context.errors import AfterturnError
from models.error_facts import facts_of

log = structlog.get_logger()

STATUS_OF_CODE = {
    "invalid-input": 422,
    "invalid-json": 400,
    "context-over-budget": 422,
    "catalog-over-budget": 422,
    "not-an-overflow": 422,
    "nothing-to-compress": 422,
    "body-incomplete": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "body-timeout": 408,
    "turn-conflict": 409,
    "plan-not-ready": 409,
    "outcome-conflict": 409,
    "too-large": 413,
    "rate-limited": 429,
    "text-key-unavailable": 503,
    "unavailable": 503,
}
NO_DATABASE = "the database does not answer; nothing was changed, try again"
HELD = "others held the same rows for too long; nothing was changed, try again"
FAULT = "this is a fault of ours; nothing was changed"
HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}
HEADERS_OF_STATUS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}


class ProblemError(AfterturnError):
    """An error whose code is chosen where it happens."""

    def __init__(self, code: str, message: str, **numbers: object) -> None:
        """Take any code of `STATUS_OF_CODE`."""
        super().__init__(message, **numbers)
        self.code = code


def not_found(what: str) -> ProblemError:
    """The same answer for what does not exist and for what belongs to somebody else."""
    return ProblemError("not-found", f"there is no such {what}")


def problem(code: str, status_code: int, detail: str, numbers: dict[str, Any] | None = None) -> Response:
    """Write a problem document. The stable members come last: no number can replace them."""
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
    """A number that a caller sent may be larger than the fast encoder takes."""
    try:
        return orjson.dumps(document, default=str)
    except TypeError:
        return json.dumps(document, default=str).encode()


def problem_of(error: AfterturnError) -> dict[str, Any]:
    """The members of a problem document, for a line of a batch."""
    status_code = STATUS_OF_CODE.get(error.code, 500)
    return {**error.numbers, "type": error.code, "status": status_code, "detail": error.message}


def why_unavailable(error: Exception) -> str:
    """Say, to the log and to a caller, whether the database is away or others held what a call needed."""
    if is_contention(error):
        log.warning("rows_held", error=type(error).__name__)
        return HELD
    log.warning("database_unavailable", error=type(error).__name__)
    return NO_DATABASE


def install(app: FastAPI) -> None:
    """Answer every kind of error with a problem document."""

    @app.exception_handler(AfterturnError)
    def _known(_: Request, error: AfterturnError) -> Response:
        return problem(error.code, STATUS_OF_CODE.get(error.code, 500), error.message, error.numbers)

    @app.exception_handler(RequestValidationError)
    def _schema(request: Request, error: RequestValidationError) -> Response:
        return _known(request, validation_error(error))

    @app.exception_handler(HTTPException)
    def _http(_: Request, error: HTTPException) -> Response:
        code = HTTP_CODES.get(error.status_code, "http-error")
        answer = problem(code, error.status_code, _detail(error))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(PoolTimeoutError)
    @app.exception_handler(OperationalError)
    def _database(_: Request, error: Exception) -> Response:
        return problem("unavailable", 503, why_unavailable(error))

    @app.exception_handler(IntegrityError)
    def _refused(request: Request, error: IntegrityError) -> Response:
        return _database(request, error) if is_contention(error) else _unknown(request, error)

    @app.exception_handler(Exception)
    def _unknown(_: Request, error: Exception) -> Response:
        log.error("request_failed", **facts_of(error))
        return problem("internal-error", 500, FAULT)
