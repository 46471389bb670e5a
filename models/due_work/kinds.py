"""Table of the kinds of due work: name, shown task, queue and key. Handlers stand in `workers/tasks.py`."""

from enum import StrEnum
from typing import Self


class WorkQueue(StrEnum):
    """Queues of bells; a worker serves some queues or all."""

    SUMMARIES = "summaries"
    ARTIFACTS = "artifacts"
    PLANS = "plans"
    LEARNING = "learning"
    MAINTENANCE = "maintenance"
    ISOLATION = "isolation"
    """For work of every kind that has killed a worker, and for work with an expired lease."""


_SESSION = "session"
"""Mark of a kind whose keys are sessions."""


class WorkKind(StrEnum):
    """Kind of due work, one row each.

    Attributes:
        task: Name of the pieces in Flower, and of the messages of older code.
        queue: Queue of the workers that do the work.
        by_session: True if the key of a piece is a session.
    """

    task: str
    queue: WorkQueue
    by_session: bool

    def __new__(
        cls, name: str, task: str = "", queue: WorkQueue = WorkQueue.MAINTENANCE, key: str = ""
    ) -> Self:
        """Make a row; the name is the first part of a piece's key, so a renamed kind strands the pieces."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.task, kind.queue, kind.by_session = task, queue, key == _SESSION
        return kind

    SUMMARIZE = "summarize", "summaries.summarize", WorkQueue.SUMMARIES, _SESSION
    RECALL = "recall", "maintenance.index_recall", WorkQueue.MAINTENANCE, _SESSION
    SWEEP = "sweep", "maintenance.sweep", WorkQueue.MAINTENANCE
    LEARN = "learn", "learning.learn", WorkQueue.LEARNING
    PLAN = "plan", "plans.plan", WorkQueue.PLANS
    ARTIFACT = "artifact", "artifacts.read", WorkQueue.ARTIFACTS
    CONTEXT_PLAN = "context_plan", "plans.plan_context", WorkQueue.PLANS, _SESSION
    RELABEL = "relabel", "plans.relabel", WorkQueue.PLANS, _SESSION
    SHADOW = "shadow", "maintenance.judge_shadows", WorkQueue.MAINTENANCE
    WAKE = "wake", "maintenance.wake_sessions", WorkQueue.MAINTENANCE
    USER_KEYS = "user_keys", "maintenance.key_passages", WorkQueue.MAINTENANCE, _SESSION


class WorkState(StrEnum):
    """State of a piece of work."""

    READY = "ready"
    RUNNING = "running"
    IDLE = "idle"
    DEAD = "dead"
