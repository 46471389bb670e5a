"""Schedule of beat: a tick makes work due in Postgres. A second or late beat does no harm."""

from enum import StrEnum
from typing import Any

from models.due_work.kinds import WorkQueue
from workers.settings import worker_settings


class TaskName(StrEnum):
    """Names of tasks on the wire beside those of `WorkKind`. A renamed task strands queued messages."""

    BELL = "bell"
    TICK = "maintenance.tick"


RUNG_AT = "rung_at"
"""Header of a bell with the time of the due work, by the database's clock.

A worker with a later look without due work need not look again.
"""

CLOCKS_APART_S = 7_200
"""Tolerated difference of two machines' clocks. Celery compares a tick's expiry with the clock of the taking
machine: a worker with a clock ahead by more than a tick's life would take no tick.
"""

SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {
        "task": TaskName.TICK,
        "schedule": worker_settings().tick_s,
        # A tick that nobody took is worth nothing once the next one is there.
        "options": {
            "queue": WorkQueue.MAINTENANCE.value,
            "expires": worker_settings().tick_s + CLOCKS_APART_S,
        },
    }
}
