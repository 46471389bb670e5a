"""Loggable facts about an error: the kind and the place of the raise, never the message.

Error messages quote data: a driver the refused row, a validator the input.
"""

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError

MOST_PLACES = 12
"""Number of logged calls that led to an error, counted from the last."""

MOST_CAUSES = 5
"""Number of logged causes of an error, counted from the nearest."""

_ROOT = Path(__file__).resolve().parent.parent
_LIBRARIES = "site-packages"


def kind_of(error: BaseException) -> str:
    """Return the class name of an error; for a database error the driver's class instead of the wrapper's."""
    origin = error.orig if isinstance(error, DBAPIError) else None
    return type(origin or error).__name__


def facts_of(error: BaseException) -> dict[str, Any]:
    """Collect the loggable facts about an error.

    Returns:
        `error`, the kind; `where`, the calls that led to the error as `file:line function`, the last call
        last; `causes`, the kinds of the causing errors, if any.
    """
    facts: dict[str, Any] = {"error": kind_of(error), "where": where(error)}
    causes = [kind_of(cause) for cause in _causes(error)]
    return {**facts, "causes": causes} if causes else facts


def where(error: BaseException) -> list[str]:
    """List the last calls before an error, as `file:line function`; paths from project or library root."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return [f"{_short(code.co_filename)}:{line} {code.co_name}" for code, line in frames[-MOST_PLACES:]]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the causes of an error; the driver's error under a wrapper counts as the same error."""
    for _ in range(MOST_CAUSES):
        cause = error.__cause__ if error.__suppress_context__ else error.__context__
        if cause is None:
            return
        if not isinstance(error, DBAPIError):
            yield cause
        error = cause


def _short(file: str) -> str:
    path = Path(file)
    if _LIBRARIES in path.parts:
        return "/".join(path.parts[path.parts.index(_LIBRARIES) + 1 :])
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else path.name
