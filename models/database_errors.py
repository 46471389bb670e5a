"""What an error of the database says of its cause: one table of SQLSTATEs, for the API and for workers."""

import errno
from collections.abc import Mapping
from enum import StrEnum

import psycopg
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError


class Trouble(StrEnum):
    """What is wrong, where it is not what was asked."""

    AWAY = "away"
    """No server, a connection that was cut, or one that starts or ends."""
    FULL = "full"
    """Out of disk, memory or connections."""
    BROKEN = "broken"
    """The disk fails, or what is on it is damaged."""
    READ_ONLY = "read-only"
    """It takes no changes: a standby, or by an operator's word."""
    CONFLICT = "conflict"
    """Two transactions could not both go on; this one was ended."""
    HELD = "held"
    """Another transaction held a row for too long."""
    SLOW = "slow"
    """A statement took too long: it waited, the disk is slow, or somebody cancelled it."""
    GONE = "gone"
    """What a row refers to was erased after it was found."""
    UNFIT = "unfit"
    """The password, the rights, or the tables are not those of this version: a deployment is under way."""


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
    "28": Trouble.UNFIT,
    "3D000": Trouble.UNFIT,
    "3F000": Trouble.UNFIT,
    "42501": Trouble.UNFIT,
    "42703": Trouble.UNFIT,
    "42883": Trouble.UNFIT,
    "42P01": Trouble.UNFIT,
}
"""By the SQLSTATE or its beginning; the longest that fits counts. Others are the fault of what was asked."""

_OF_THE_NODE = frozenset(
    {
        *(errno.EAGAIN, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE),
        *(errno.ENOMEM, errno.ENOSPC, errno.EPIPE, errno.EROFS),
    }
)
"""Errors of the operating system that say that the machine lacks something."""

INNOCENT = frozenset(Trouble) - {Trouble.GONE}
"""Troubles of which the work that met them is not the cause, so that they never end it."""


def trouble_of(error: BaseException) -> Trouble | None:
    """What an error says is wrong with the database or the machine; None: it may be what was asked.

    Args:
        error: Any error, the driver's own or one that wraps it.
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
    """The SQLSTATE that the server gave; None where it gave none, as when the connection broke."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(origin, "sqlstate", None)
    return state if isinstance(state, str) and state else None


def _named(state: str) -> Trouble | None:
    for length in range(len(state), 1, -1):
        found = _BY_STATE.get(state[:length])
        if found is not None:
            return found
    return None
