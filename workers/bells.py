"""Bells: how the broker wakes a worker. A bell says that something is due, and nothing of what it is."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from celery import Celery
from kombu import Queue
from kombu.exceptions import ChannelError, OperationalError

from models.due import Due
from workers.kinds import ISOLATION, QUEUES, ROUTES
from workers.schedule import RUNG_AT, TaskName

MOST_WAITING = 100
"""So many messages in a queue are no bells of ours: they were left there, and the queue is emptied."""


class Bells:
    """The broker's queues, of which each holds a few bells at most."""

    def __init__(self, celery: Celery) -> None:
        """Speak to the broker of an application."""
        self._celery = celery

    def waiting(self, queue: str) -> int:
        """How many messages of a queue nobody has taken yet.

        Raises:
            OperationalError: The broker is away.
        """
        with self._at(queue) as found:
            try:
                return int(found.queue_declare(passive=True).message_count)
            except ChannelError:
                return 0  # a queue that is empty is not there

    def ring(self, queue: str, at: datetime) -> None:
        """Send one bell.

        Args:
            queue: Whom it wakes.
            at: When something was due there, by the database's clock.

        Raises:
            OperationalError: The broker is away.
        """
        self._celery.send_task(
            TaskName.BELL,
            queue=queue,
            headers={RUNG_AT: at.isoformat()},
            retry=False,
            ignore_result=True,
        )

    def clear(self, queue: str) -> None:
        """Throw away what waits in a queue: due work is in Postgres, and ticks come again.

        Raises:
            OperationalError: The broker is away.
        """
        with self._at(queue) as found:
            found.purge()

    @contextmanager
    def _at(self, queue: str) -> Iterator[Any]:
        with self._celery.producer_or_acquire() as producer:
            connection = producer.connection
            try:
                yield Queue(queue, channel=connection.default_channel)
            except ChannelError:
                raise
            except (*connection.connection_errors, *connection.channel_errors) as error:
                raise OperationalError(type(error).__name__) from error


def due_by_queue(due: Due) -> Mapping[str, int]:
    """How much is due for each queue that has anything due."""
    sums: dict[str, int] = {}
    for group, pieces in due.pieces.items():
        queue = ROUTES[group.kind][1] if group.kind else ISOLATION
        sums[queue] = sums.get(queue, 0) + pieces
    return sums


def ring_for(due: Due, bells: Bells, *, most: int) -> Mapping[str, int]:
    """Have no more bells in each queue than pieces are due there, and no more than are allowed.

    Args:
        due: What is due, counted at least as far as `most`.
        bells: Where to ring.
        most: The most bells of a queue.

    Returns:
        How many were sent to each queue.
    """
    sent: dict[str, int] = {}
    for queue, pieces in due_by_queue(due).items():
        sent[queue] = max(min(pieces, most) - bells.waiting(queue), 0)
        for _ in range(sent[queue]):
            bells.ring(queue, due.at)
    return sent


def keep_short(bells: Bells) -> Mapping[str, int]:
    """Empty every queue that holds what nobody needs. Returns how much each held."""
    held = {queue: bells.waiting(queue) for queue in QUEUES}
    for queue, waiting in held.items():
        if waiting > MOST_WAITING:
            bells.clear(queue)
    return held
