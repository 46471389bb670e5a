"""Work of a worker by the served queues."""

from collections.abc import Iterable
from dataclasses import dataclass

from models.due_work.kinds import WorkKind, WorkQueue

WAITING_QUEUES = frozenset({WorkQueue.SUMMARIES, WorkQueue.ARTIFACTS, WorkQueue.PLANS})
"""Queues of work that mostly waits for a model: a process does many pieces of it at once."""


@dataclass(frozen=True)
class Served:
    """Work of a worker on some queues.

    Attributes:
        kinds: Kinds of work of the queues.
        isolated: True to take also work with a killed worker.
        only_waits: True when every queue holds work that mostly waits for a model.
    """

    kinds: tuple[WorkKind, ...]
    isolated: bool
    only_waits: bool


def served_by(queues: Iterable[str]) -> Served:
    """Return the work of some queues."""
    named = frozenset(queues)
    return Served(
        tuple(kind for kind in WorkKind if kind.queue in named),
        isolated=WorkQueue.ISOLATION in named,
        only_waits=named <= WAITING_QUEUES,
    )
