"""Queue and shown name of each kind of work."""

from collections.abc import Iterable
from dataclasses import dataclass

from models.due_work.queue import WorkKind
from workers.tick import TaskName

ROUTES = {
    WorkKind.SUMMARIZE: (TaskName.SUMMARIZE, "summaries"),
    WorkKind.RECALL: (TaskName.INDEX_RECALL, "maintenance"),
    WorkKind.SWEEP: (TaskName.SWEEP, "maintenance"),
    WorkKind.LEARN: (TaskName.LEARN, "learning"),
    WorkKind.PLAN: (TaskName.PLAN, "plans"),
    WorkKind.ARTIFACT: (TaskName.READ_ARTIFACT, "artifacts"),
    WorkKind.CONTEXT_PLAN: (TaskName.PLAN_CONTEXT, "plans"),
    WorkKind.RELABEL: (TaskName.RELABEL, "plans"),
    WorkKind.SHADOW: (TaskName.JUDGE_SHADOWS, "maintenance"),
}

ISOLATION = "isolation"
"""Queue for work of every kind that has killed a worker, and for work with an expired lease."""

QUEUES = ("summaries", "artifacts", "plans", "learning", "maintenance", ISOLATION)


@dataclass(frozen=True)
class Served:
    """Work of a worker on some queues.

    Attributes:
        kinds: Kinds of work of the queues.
        isolated: True to take also work with a killed worker.
    """

    kinds: tuple[WorkKind, ...]
    isolated: bool


def served_by(queues: Iterable[str]) -> Served:
    """Return the work of some queues."""
    named = frozenset(queues)
    return Served(
        tuple(kind for kind, (_, queue) in ROUTES.items() if queue in named), isolated=ISOLATION in named
    )
