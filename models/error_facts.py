"""What a log may say of an error: its kind and where it was raised, never its words.

The words of an error quote what it was about: a driver's the refused row, a validator's its input.
"""

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError

MOST_PLACES = 12
"""So many of the calls that led to an error are told, the last ones."""

MOST_CAUSES = 5
"""So many of the errors that led to one are told, the nearest ones."""

_ROOT = Path(__file__).resolve().parent.parent
_LIBRARIES = "site-packages"


def kind_of(error: BaseException) -> str:
    """The class of an error; of a database's the driver's own, which says more than the wrapper's."""
    origin = error.orig if isinstance(error, DBAPIError) else None
    return type(origin or error).__name__


def facts_of(error: BaseException) -> dict[str, Any]:
    """All that a log line may tell of an error.

    Returns:
        `error`, its kind; `where`, the calls that led to it as `file:line function`, the last one last;
        `causes`, the kinds of the errors it was raised from, where there are any.
    """
    facts: dict[str, Any] = {"error": kind_of(error), "where": where(error)}
    causes = [kind_of(cause) for cause in _causes(error)]
    return {**facts, "causes": causes} if causes else facts


def where(error: BaseException) -> list[str]:
    """The last calls before it, as `file:line function`; files from the project's or library's root."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return [f"{_short(code.co_filename)}:{line} {code.co_name}" for code, line in frames[-MOST_PLACES:]]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What an error was raised from; the driver's error under its wrapper is the same one."""
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
