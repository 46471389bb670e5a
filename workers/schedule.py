"""What beat does: it makes work due, in Postgres. A second beat, or a late one, does no harm."""

from enum import StrEnum
from typing import Any

from workers.settings import worker_settings


class TaskName(StrEnum):
    """The names on the wire. Renaming one strands the messages already queued."""

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


HINTED_UNTIL = "hinted_until"
"""The header of a hint that says when it is over, by the database's clock.

Celery compares its own expiry with the clock of the machine that takes a message: a worker whose clock is
ahead of the dispatcher's by more than a hint's life would take none, and nothing would ever be done.
"""

CLOCKS_APART_S = 7_200
"""So far may the clocks of two machines be apart. Celery's expiry waits for as long beside the real one: it
only keeps a broker from handing out what was left in it long ago."""

SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {
        "task": TaskName.TICK,
        "schedule": worker_settings().tick_s,
        # A tick that nobody took is worth nothing once the next one is there.
        "options": {"queue": "maintenance", "expires": worker_settings().tick_s + CLOCKS_APART_S},
    }
}
