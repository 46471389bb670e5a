"""Do a call's work in a transaction, and once more where others ended it or took away what it had found."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import structlog
from sqlalchemy.exc import DBAPIError, NoResultFound
from starlette.types import ASGIApp, Receive, Scope, Send

from models.database_errors import Trouble, trouble_of
from models.error_facts import kind_of
from models.session import Transaction, transaction

log = structlog.get_logger()

MOST_TRIES = 3
"""How often a call is tried where others take the same rows in another order, or change them meanwhile."""

_LOST_RACES = frozenset({Trouble.CONFLICT, Trouble.GONE})
_deeds: ContextVar[list[None] | None] = ContextVar("deeds", default=None)

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
                done = work(db)
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
    """Remembers of each request whether anything was committed for it, so that an error can say so."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin a list that the threads of a request share with what answers for their errors."""
        _deeds.set([])
        await self.app(scope, receive, send)


def _note_deed() -> None:
    deeds = _deeds.get()
    if deeds is not None:
        deeds.append(None)


def is_done_in_part() -> bool:
    """Whether something was committed for this request before it failed."""
    return bool(_deeds.get())
