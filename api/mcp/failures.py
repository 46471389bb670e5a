"""Errors for agents: the same slugs and sentences as the problem documents of the HTTP API."""

import json

import structlog

from api.http.errors import fault, problem_of, unavailable
from context.errors import AfterturnError
from context.types import JsonObject
from models.errors import facts_of

log = structlog.get_logger()

_STABLE = ("type", "status", "detail")


def as_problem(error: Exception, *, call: str) -> JsonObject:
    """Write an error as a problem document; an unexpected error is not described.

    Args:
        error: The raised error.
        call: The call's name, for the log.

    Returns:
        `{type, status, detail}` and the error's numbers.
    """
    return problem_of(_known(error, call))


def _known(error: Exception, call: str) -> AfterturnError:
    if isinstance(error, AfterturnError):
        return error
    told = unavailable(error)
    if told is None:
        log.error("request_failed", call=call, **facts_of(error))
        told = fault()
    return told


def in_words(problem: JsonObject) -> str:
    """Write a problem for a model: the slug, the sentence, and any numbers."""
    numbers = {name: value for name, value in problem.items() if name not in _STABLE}
    sentence = f"{problem['type']}: {problem['detail']}"
    return f"{sentence} {json.dumps(numbers, ensure_ascii=False, default=str)}" if numbers else sentence
