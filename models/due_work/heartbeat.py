"""Heartbeats of the background processes, written by the real work of the processes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Timestamp
from models.database import Transaction


class Heartbeat(Base):
    """Time of the last heartbeat of a role. The row belongs to the installation, not to a tenant."""

    __tablename__ = "heartbeat"
    __table_args__ = ({"postgresql_with": {"fillfactor": 50}},)

    role: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[Timestamp]
    detail: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    pool_seen_at: Mapped[datetime | None]
    pool_since: Mapped[datetime | None]


MODELS_IN_USE = ("summarizer", "planner")
"""Names in a worker's detail for the models in use, by purpose."""

QUEUES_HELD = "queues"
"""Name in a dispatcher's detail for the number of waiting messages by broker queue."""

ARTIFACT_PROMPT = "artifact_prompt"
"""Name in a worker's detail for the version of the artifact prompt."""


@dataclass(frozen=True)
class Sign:
    """Newest heartbeat of a role, with the detail of the process."""

    seen_at: datetime
    detail: dict[str, Any]


def beat(db: Transaction, role: str, instance: str, detail: dict[str, Any] | None = None) -> None:
    """Record that this process is at work now, with a detail."""
    row = insert(Heartbeat).values(role=role, instance=instance, seen_at=func.now(), detail=detail or {})
    db.execute(
        row.on_conflict_do_update(
            index_elements=[Heartbeat.role, Heartbeat.instance],
            set_={"seen_at": func.now(), "detail": row.excluded.detail},
        )
    )


def last_signs(db: Transaction) -> dict[str, Sign]:
    """Find the newest heartbeat of each role, from any process."""
    rows = db.execute(
        select(Heartbeat.role, Heartbeat.seen_at, Heartbeat.detail)
        .ext(distinct_on(Heartbeat.role))
        .order_by(Heartbeat.role, Heartbeat.seen_at.desc())
    )
    return {row.role: Sign(row.seen_at, row.detail) for row in rows}


AT_WORK = timedelta(seconds=60)
"""Longest age of the heartbeat of a process at work."""


def find_agreed(db: Transaction, role: str, name: str) -> str | None:
    """Find the detail on which all processes of a role at work agree.

    Returns None when processes differ, a process reports nothing, or no process is at work.
    """
    said = (
        select(Heartbeat.detail[name].astext)
        .where(Heartbeat.role == role, Heartbeat.seen_at > func.now() - AT_WORK)
        .distinct()
        .limit(2)
    )
    found = db.execute(said).scalars().all()
    return str(found[0]) if len(found) == 1 and found[0] else None


def forget_older_than(db: Transaction, age: timedelta) -> int:
    """Delete the heartbeats older than an age. Returns the number of deleted rows."""
    return db.execute(delete(Heartbeat).where(Heartbeat.seen_at < func.now() - age)).rowcount
