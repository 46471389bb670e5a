"""Signs of life of the background processes, written by the work they really do."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Timestamp
from models.session import Transaction


class Heartbeat(Base):
    """When a role was last seen at work. It belongs to the installation, not to a tenant."""

    __tablename__ = "heartbeat"
    __table_args__ = ({"postgresql_with": {"fillfactor": 50}},)

    role: Mapped[str] = mapped_column(primary_key=True)
    instance: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[Timestamp]
    detail: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    pool_seen_at: Mapped[datetime | None]
    pool_since: Mapped[datetime | None]


MODELS_IN_USE = ("summarizer", "planner")
"""What a worker says of the models that it asks, by their purpose."""

QUEUES_HELD = "queues"
"""What a dispatcher calls how many messages wait in each queue of the broker."""

ARTIFACT_PROMPT = "artifact_prompt"
"""What a worker calls the version of the prompt by which it has artifacts summarized."""


@dataclass(frozen=True)
class Sign:
    """The newest sign of life of a role, and what its process says of itself."""

    seen_at: datetime
    detail: dict[str, Any]


def beat(db: Transaction, role: str, instance: str, detail: dict[str, Any] | None = None) -> None:
    """Say that this process is at work now, and with what."""
    row = insert(Heartbeat).values(role=role, instance=instance, seen_at=func.now(), detail=detail or {})
    db.execute(
        row.on_conflict_do_update(
            index_elements=[Heartbeat.role, Heartbeat.instance],
            set_={"seen_at": func.now(), "detail": row.excluded.detail},
        )
    )


def last_signs(db: Transaction) -> dict[str, Sign]:
    """The newest sign of each role, whichever of its processes gave it."""
    rows = db.execute(
        select(Heartbeat.role, Heartbeat.seen_at, Heartbeat.detail)
        .ext(distinct_on(Heartbeat.role))
        .order_by(Heartbeat.role, Heartbeat.seen_at.desc())
    )
    return {row.role: Sign(row.seen_at, row.detail) for row in rows}


AT_WORK = timedelta(seconds=60)
"""Whoever was not seen for longer is not at work."""


def find_agreed(db: Transaction, role: str, name: str) -> str | None:
    """What all processes of a role that are at work say of themselves.

    None where they differ, one of them says nothing of it, or none is at work.
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
    """Forget processes that have not been seen for so long. Returns how many."""
    return db.execute(delete(Heartbeat).where(Heartbeat.seen_at < func.now() - age)).rowcount
