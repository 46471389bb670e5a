"""What beat does: it makes work due, in Postgres. A second beat, or a late one, does no harm."""

from enum import StrEnum
from typing import Any

from workers.settings import worker_settings


class TaskName(StrEnum):
    """The names on the wire, and those of pieces of work in Flower. Renaming one strands what is queued.

    A message that has the name of a piece was sent by older code, and is a bell for whoever takes it.
    """

    BELL = "bell"
    SUMMARIZE = "summaries.summarize"
    INDEX_RECALL = "maintenance.index_recall"
    SWEEP = "maintenance.sweep"
    PLAN = "plans.plan"
    READ_ARTIFACT = "artifacts.read"
    PLAN_CONTEXT = "plans.plan_context"
    RELABEL = "plans.relabel"
    LEARN = "learning.learn"
    JUDGE_SHADOWS = "maintenance.judge_shadows"
    TICK = "maintenance.tick"


RUNG_AT = "rung_at"
"""The header of a bell that says when something was due, by the database's clock.

Who has looked since and found nothing need not look again.
"""

CLOCKS_APART_S = 7_200
"""So far may the clocks of two machines be apart. Celery compares the expiry of a tick with the clock of the
machine that takes it: a worker whose clock is ahead by more than a tick's life would take none."""

SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {
        "task": TaskName.TICK,
        "schedule": worker_settings().tick_s,
        # A tick that nobody took is worth nothing once the next one is there.
        "options": {"queue": "maintenance", "expires": worker_settings().tick_s + CLOCKS_APART_S},
    }
}
