"""Transactions with retries after a deadlock or a lost race."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import structlog
from sqlalchemy.exc import DBAPIError, NoResultFound
from starlette.types import ASGIApp, Receive, Scope, Send

from models.database import Transaction, transaction
from models.errors import Trouble, kind_of, trouble_of

log = structlog.get_logger()

MOST_TRIES = 3
"""Most tries of a call in conflict with others over the same rows."""

_LOST_RACES = frozenset({Trouble.CONFLICT, Trouble.GONE})
_deeds: ContextVar[list[None] | None] = ContextVar("deeds", default=None)

Result = TypeVar("Result")


def committed(work: Callable[[Transaction], Result]) -> Result:
    """Run work in a transaction; after a deadlock or a lost race, start again.

    If a found object is erased in between, the next try does not find the object, and reports so.

    Args:
        work: The work; may run several times, each on the present state.

    Returns:
        The work's result, after the commit.
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
    """Remembers per request whether any commit happened, for error answers."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
