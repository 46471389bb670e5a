"""A held row of a session, or all sessions, and the calls that wait for it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text

from models import database as session


@contextmanager
def held(session_id: str) -> Iterator[None]:
    """Hold the row of a session, so that writers to it wait."""
    with session.transaction() as db:
        db.execute(text("select 1 from session where session_id = :s for update"), {"s": session_id})
        yield


@contextmanager
def held_from_all() -> Iterator[None]:
    """Hold the table of sessions, so that readers wait too."""
    with session.transaction() as db:
        db.execute(text("lock table session in access exclusive mode"))
        yield


def waiting() -> int:
    """How many statements wait for a lock."""
    with session.read_transaction() as db:
        query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        return int(db.execute(text(query)).scalar_one())
