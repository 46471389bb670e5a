"""Errors as problem documents, schema errors in plain words, and transactions with retries."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar, get_args
from uuid import UUID

import orjson
import structlog
from fastapi import FastAPI, Request, Response, status
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError, NoResultFound
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connected

from context.errors import AfterturnError, InvalidInputError
from models.database import OutcomeUnknownError
from models.database_errors import Trouble, facts_of, kind_of, trouble_of
from models.scope import Scope

log = structlog.get_logger()

MOST_TRIES = 3
"""Most tries of a call in conflict with others over the same rows."""

_LOST_RACES = frozenset({Trouble.CONFLICT, Trouble.GONE})
_deeds: ContextVar[list[None] | None] = ContextVar("deeds", default=None)

Result = TypeVar("Result")


def committed(tenant_id: UUID, work: Callable[[Scope], Result]) -> Result:
    """Run work of a tenant in a transaction; after a deadlock or a lost race, start again.

    If a found object is erased in between, the next try does not find the object, and reports so.

    Args:
        tenant_id: The tenant whose rows are changed.
        work: The work; may run several times, each on the present state.

    Returns:
        The work's result, after the commit.
    """
    for tries_left in reversed(range(MOST_TRIES)):
        try:
            with Scope.write(tenant_id) as scope:
                done = work(scope)
            _note_deed()
        except (DBAPIError, NoResultFound) as error:
            if not _is_lost_race(error) or not tries_left:
                raise
            log.info("call_repeated", error=kind_of(error))
        else:
            return done
    raise AssertionError  # pragma: no cover - the last try returns or raises


def _is_lost_race(error: DBAPIError | NoResultFound) -> bool:
    return isinstance(error, NoResultFound) or trouble_of(error) in _LOST_RACES


class NoteDeeds:
    """Remembers per request whether any commit happened, for error answers."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Connected, receive: Receive, send: Send) -> None:
        """Begin a list shared by a request's threads and its error handler."""
        _deeds.set([])
        await self.app(scope, receive, send)


def _note_deed() -> None:
    deeds = _deeds.get()
    if deeds is not None:
        deeds.append(None)


def is_done_in_part() -> bool:
    """Tell whether the request committed anything before failing."""
    return bool(_deeds.get())


_PLACES = frozenset({"body", "header", "path", "query"})
"""Framework prefixes of a parameter's place. A field may have such a name itself."""

_EXAMPLE = "2026-01-31T12:00:00Z"
_A_TIME = f"must be a date and time with a zone, such as {_EXAMPLE}"
_EMPTY = "must not be empty"
_INTEGER = "must be a whole number"

_TEXTS: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field; remove it",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_parsing_size": _INTEGER,
    "int_from_float": _INTEGER,
    "timezone_aware": f"has no zone; write it as {_EXAMPLE}",
    "datetime_type": _A_TIME,
    "datetime_parsing": _A_TIME,
    "datetime_from_date_parsing": _A_TIME,
    "datetime_object_invalid": _A_TIME,
}

_BRANCHES: Mapping[str | int, str] = {"str": "a string", "dict[str,any]": "an object"}
"""Names of a union's branches, in the schema's words and in plain words."""

_LIMITS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "too_short": ("min_length", lambda limit: _EMPTY if limit == 1 else f"holds too few: at least {limit}"),
    "too_long": ("max_length", lambda limit: f"holds too many: at most {limit}"),
    "string_too_short": (
        "min_length",
        lambda limit: _EMPTY if limit == 1 else f"is too short: at least {limit} characters",
    ),
    "string_too_long": ("max_length", lambda limit: f"is too long: at most {limit} characters"),
    "greater_than_equal": ("ge", lambda limit: f"must be at least {limit}"),
    "less_than_equal": ("le", lambda limit: f"must be at most {limit}"),
}


def kinds_of(annotation: Any) -> frozenset[Any]:
    """The types that an annotation is made of, however they are put together."""
    parts = get_args(annotation)
    return frozenset([annotation]).union(*map(kinds_of, parts)) if parts else frozenset([annotation])


def validation_error(error: ValidationError | RequestValidationError) -> InvalidInputError:
    """Turn a schema's first error into a sentence with the field and the limit.

    Args:
        error: The schema's errors, at least one.
    """
    first = error.errors()[0]
    place = tuple(first["loc"])
    if isinstance(error, RequestValidationError) and place[:1] and place[0] in _PLACES:
        return _named(place[1:], first)
    if place and place[-1] in _BRANCHES:
        kinds = " or ".join(
            _BRANCHES[each["loc"][-1]]
            for each in error.errors()
            if tuple(each["loc"][:-1]) == place[:-1] and each["loc"][-1] in _BRANCHES
        )
        return InvalidInputError(_field(place[:-1]) or "body", f"must be {kinds}")
    return _named(place, first)


def _named(place: Sequence[str | int], complaint: Mapping[str, Any]) -> InvalidInputError:
    text, numbers = _in_words(complaint)
    return InvalidInputError(_field(place) or "body", text, **numbers)


def _field(place: Sequence[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _in_words(complaint: Mapping[str, Any]) -> tuple[str, dict[str, object]]:
    kind, facts = complaint["type"], complaint.get("ctx", {})
    if kind in _LIMITS:
        name, say = _LIMITS[kind]
        return say(facts[name]), {"limit": facts[name]}
    if kind == "value_error":
        return str(facts["error"]), {}
    if kind == "string_pattern_mismatch":
        return f"must match {facts['pattern']}", {}
    if kind in ("enum", "literal_error"):
        return f"is unknown; allowed: {facts['expected']}", {}
    return _TEXTS.get(kind, str(complaint["msg"])), {}


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
    "canary-refused": 409,
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
        return "there is nothing at this path; an id holds no slash"
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
    held_rows = {"held": True} if REASONS[trouble] == HELD else {}
    return ProblemError(
        "unavailable", f"{REASONS[trouble]}; {_so_far()}, try again", **_outcome(), **held_rows
    )


def held() -> ProblemError:
    """Build the error of a call refused before its start, because others hold the same row."""
    return ProblemError("unavailable", f"{HELD}; {NOTHING}, try again", outcome="none", held=True)


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
