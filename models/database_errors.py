"""Causes of errors by SQLSTATE, and the facts of an error that a log may hold."""

import errno
import traceback
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError


class Trouble(StrEnum):
    """Cause of an error other than the request."""

    AWAY = "away"
    """No server, a cut connection, or a server that starts or ends."""
    FULL = "full"
    """Out of disk, memory or connections."""
    BROKEN = "broken"
    """The disk fails, or the data on the disk is damaged."""
    READ_ONLY = "read-only"
    """The server takes no changes: a standby, or set so by an operator."""
    CONFLICT = "conflict"
    """Two transactions could not both go on; this transaction was ended."""
    HELD = "held"
    """Another transaction held a row for too long."""
    SLOW = "slow"
    """A statement took too long: a long wait, a slow disk, or a cancel by somebody."""
    GONE = "gone"
    """A row refers to something erased after it was found."""
    UNFIT = "unfit"
    """Password, rights or tables do not fit this version: a deployment is under way."""


_BY_STATE: Mapping[str, Trouble] = {
    "08": Trouble.AWAY,
    "57P": Trouble.AWAY,
    "25P03": Trouble.AWAY,  # it ended a session that was idle in its transaction
    "25P04": Trouble.AWAY,  # the same of a transaction that took too long
    "53": Trouble.FULL,
    "58": Trouble.BROKEN,
    "XX001": Trouble.BROKEN,
    "XX002": Trouble.BROKEN,
    "25006": Trouble.READ_ONLY,
    "40": Trouble.CONFLICT,
    "55006": Trouble.HELD,
    "55P03": Trouble.HELD,
    "57014": Trouble.SLOW,
    "23503": Trouble.GONE,
    "0A000": Trouble.UNFIT,  # a plan that was kept from before a migration
    "26000": Trouble.UNFIT,  # the same, of a pooler that changed the server's session
    "42P05": Trouble.UNFIT,  # its twin: the plan's name was taken on another connection to the server
    "28": Trouble.UNFIT,
    "3D000": Trouble.UNFIT,
    "3F000": Trouble.UNFIT,
    "42501": Trouble.UNFIT,
    "42703": Trouble.UNFIT,
    "42704": Trouble.UNFIT,
    "42883": Trouble.UNFIT,
    "42P01": Trouble.UNFIT,
    "42P10": Trouble.UNFIT,  # an index that `on conflict` needs is not there yet
    "72": Trouble.CONFLICT,  # the rows of an old snapshot are gone
}
"""Causes by SQLSTATE or its prefix; the longest match counts. Other states are the fault of the request."""

_OF_THE_NODE = frozenset(
    {
        *(errno.EAGAIN, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE),
        *(errno.ENOMEM, errno.ENOSPC, errno.EPIPE, errno.EROFS),
    }
)
"""Errors of the operating system that report a lack on the machine."""

INNOCENT = frozenset(Trouble) - {Trouble.GONE}
"""Causes outside the work, so that such an error never ends the work."""


def trouble_of(error: BaseException) -> Trouble | None:
    """Find the trouble of the database or the machine in an error; None: the request may be the cause.

    Args:
        error: Any error, of the driver or a wrapper.
    """
    if isinstance(error, PoolTimeoutError):
        return Trouble.FULL
    if isinstance(error, OSError) and not isinstance(error, psycopg.Error):
        return Trouble.FULL if error.errno in _OF_THE_NODE else None
    state = state_of(error)
    if state is not None:
        return _named(state)
    origin = error.orig if isinstance(error, DBAPIError) else error
    lost = isinstance(error, OperationalError | InterfaceError) or (
        isinstance(origin, psycopg.OperationalError | psycopg.InterfaceError)
    )
    return Trouble.AWAY if lost else None


def state_of(error: BaseException) -> str | None:
    """Return the server's SQLSTATE; None without a SQLSTATE, as after a broken connection."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(origin, "sqlstate", None)
    return state if isinstance(state, str) and state else None


def _named(state: str) -> Trouble | None:
    for length in range(len(state), 1, -1):
        found = _BY_STATE.get(state[:length])
        if found is not None:
            return found
    return None


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
