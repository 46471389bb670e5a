"""The one clock: the database's. Processes run on many machines, and one of them may have a wrong time."""

from datetime import UTC, datetime

from sqlalchemy import text

from models.session import Transaction

_NOW = text("select now()")


def present(db: Transaction) -> datetime:
    """The time of this transaction, in UTC: what it writes and what it compares go by it."""
    now: datetime = db.execute(_NOW).scalar_one()
    return now.astimezone(UTC)
