"""Every commit of an act fails once, before it happens or after it: then its caller tries again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from itertools import count
from typing import Any

import psycopg
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError

from models import database as session

MOST_TRIES = 6
"""Far more than an act takes after one fault."""

ALL_OVER = text(
    "update due_work set lease_until = case state when 'running' then now() - interval '1 s' end, "
    "due_at = now() - interval '1 s' where state in ('running', 'ready')"
)
OPEN = text("select count(*) from due_work where kind = :kind and state in ('running', 'ready')")


class When(StrEnum):
    """On which side of a commit the connection breaks."""

    BEFORE = "before"
    """Nothing was written."""
    AFTER = "after"
    """All was written, and nobody was told."""


class Fault:
    """Breaks one commit of those that are made while it strikes."""

    def __init__(self, number: int, when: When) -> None:
        self._number, self._when, self._seen = number, when, 0

    @property
    def name(self) -> str:
        """A name that only this fault has; ids of what it befalls are made of it."""
        return f"{self._when}-{self._number}"

    @property
    def happened(self) -> bool:
        """Whether there were enough commits for it."""
        return self._seen >= self._number

    @contextmanager
    def strikes(self) -> Iterator[None]:
        """Count the commits made inside, and break the one that is meant."""
        event.listen(session.engine(), "commit", self._at_commit)
        try:
            yield
        finally:
            event.remove(session.engine(), "commit", self._at_commit)

    def _at_commit(self, db: Connection) -> None:
        self._seen += 1
        if self._seen != self._number:
            return
        if self._when is When.AFTER:
            raw: Any = db.connection.dbapi_connection
            raw.commit()
        raise OperationalError("commit", None, psycopg.OperationalError("the connection is lost"))


def every_commit() -> Iterator[Fault]:
    """A fault for each side of the first commit of an act, of the second, ... and of one too many.

    The last one does not happen any more: that round shows what the act does when nothing is broken.
    """
    for number in count(1):
        for when in When:
            fault = Fault(number, when)
            yield fault
            if not fault.happened:
                assert number > 1, "the act commits nothing that could be broken"
                return


def works_off(fault: Fault, kind: str, run: Callable[[], object]) -> None:
    """Do work under a fault, then as the dispatcher has it done: again, once leases and pauses are over.

    Args:
        fault: What befalls the first run.
        kind: The kind of work; no other of it is open.
        run: Does it as a worker does.
    """
    _make_due()
    with fault.strikes(), suppress(OperationalError):
        run()
    for _ in range(MOST_TRIES):
        _make_due()
        with session.read_transaction() as db:
            if not db.execute(OPEN, {"kind": kind}).scalar_one():
                return
        run()
    raise AssertionError(f"{kind} is not done after {MOST_TRIES} tries")


def _make_due() -> None:
    with session.transaction() as db:
        db.execute(ALL_OVER)
