"""Signs of life of the background processes, written by the work they really do."""

from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Timestamp
from models.session import Transaction


class Heartbeat(Base):
    """When a role was last seen at work. It belongs to the installation, not to a tenant."""

    __tablename__ = "heartbeat"

    role: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[Timestamp]


def beat(db: Transaction, role: str, instance: str) -> None:
    """Say that this process is at work now."""
    row = insert(Heartbeat).values(role=role, instance=instance, seen_at=func.now())
    db.execute(
        row.on_conflict_do_update(
            index_elements=[Heartbeat.role, Heartbeat.instance], set_={"seen_at": func.now()}
        )
    )


def last_seen(db: Transaction) -> dict[str, datetime]:
    """When each role was last seen, whichever of its processes it was."""
    rows = db.execute(select(Heartbeat.role, func.max(Heartbeat.seen_at)).group_by(Heartbeat.role))
    return dict(rows.tuples().all())


def forget_older_than(db: Transaction, age: timedelta) -> int:
    """Forget processes that have not been seen for so long. Returns how many."""
    return db.execute(delete(Heartbeat).where(Heartbeat.seen_at < func.now() - age)).rowcount
