"""The database's clock is the shared clock: processes run on many machines, some with a wrong time."""

from datetime import UTC, datetime

from sqlalchemy import text

from models.session import Transaction

_NOW = text("select now()")


def present(db: Transaction) -> datetime:
    """Return the time of the transaction, in UTC, for everything written and compared in the transaction."""
    now: datetime = db.execute(_NOW).scalar_one()
    return now.astimezone(UTC)
