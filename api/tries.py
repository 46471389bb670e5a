"""Do a call's work in a transaction, and once more where others ended it or took away what it had found."""

from collections.abc import Callable
from typing import TypeVar

import structlog
from sqlalchemy.exc import DBAPIError, NoResultFound

from models.error_facts import kind_of
from models.session import Transaction, transaction

log = structlog.get_logger()

MOST_TRIES = 3
"""How often a call is tried where others take the same rows in another order, or change them meanwhile."""

_CONFLICTS = frozenset({"40P01", "40001"})
_GONE = frozenset({"23503"})
"""What a row refers to was erased after it was found."""

_HELD = frozenset({"55P03", "57014"})

Result = TypeVar("Result")


def committed(work: Callable[[Transaction], Result]) -> Result:
    """Do work in a transaction of its own; after a deadlock or a lost race, from the start.

    Work that had found what is erased a moment later does not find it the next time, and says so.

    Args:
        work: What to do; it may be done several times, each on what is there then.

    Returns:
        What the work returned, once that is committed.
    """
    for tries_left in reversed(range(MOST_TRIES)):
        try:
            with transaction() as db:
                return work(db)
        except (DBAPIError, NoResultFound) as error:
            if not _is_lost_race(error) or not tries_left:
                raise
            log.info("call_repeated", error=kind_of(error))
    raise AssertionError  # pragma: no cover - the last try returns or raises


def is_contention(error: Exception) -> bool:
    """Whether the database is well, and others held what a call needed."""
    return isinstance(error, DBAPIError) and _state_of(error) in _CONFLICTS | _HELD | _GONE


def _is_lost_race(error: DBAPIError | NoResultFound) -> bool:
    return isinstance(error, NoResultFound) or _state_of(error) in _CONFLICTS | _GONE


def _state_of(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)
