"""Bells: broker messages that wake a worker. A bell says that work is due, without naming the work."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from celery import Celery
from kombu import Queue
from kombu.exceptions import ChannelError, OperationalError

from models.due_work.fair_claim import Due
from models.due_work.kinds import WorkQueue
from workers.tick import RUNG_AT, TaskName

MOST_WAITING = 100
"""Longest queue of bells: more messages were left there by others, and the queue is emptied."""


class Bells:
    """The broker's queues, each with a few bells at most."""

    def __init__(self, celery: Celery) -> None:
        """Use the broker of a Celery application."""
        self._celery = celery

    def waiting(self, queue: str) -> int:
        """Count the messages of a queue not taken yet.

        Raises:
            OperationalError: The broker is away.
        """
        with self._at(queue) as found:
            try:
                return int(found.queue_declare(passive=True).message_count)
            except ChannelError:
                return 0  # a queue that is empty is not there

    def ring(self, queue: str, at: datetime) -> None:
        """Send a bell.

        Args:
            queue: Queue of the woken workers.
            at: Time of the look that found due work, by the database's clock.

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
        """Drop the waiting messages of a queue: due work is in Postgres, and ticks come again.

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
    """Sum the due pieces for each queue with due work."""
    sums: dict[str, int] = {}
    for group, pieces in due.pieces.items():
        queue = group.kind.queue if group.kind else WorkQueue.ISOLATION
        sums[queue] = sums.get(queue, 0) + pieces
    return sums


def ring_for(due: Due, bells: Bells, *, most: int) -> Mapping[str, int]:
    """Ring so that each queue has no more bells than due pieces, and no more than allowed.

    Args:
        due: Due work, counted at least as far as `most`.
        bells: Bells to ring.
        most: Maximum number of bells in a queue.

    Returns:
        Number of bells sent to each queue.
    """
    sent: dict[str, int] = {}
    for queue, pieces in due_by_queue(due).items():
        sent[queue] = max(min(pieces, most) - bells.waiting(queue), 0)
        for _ in range(sent[queue]):
            bells.ring(queue, due.at)
    return sent


def keep_short(bells: Bells) -> Mapping[str, int]:
    """Empty every queue with too many messages. Returns the number of messages found in each queue."""
    held = {queue.value: bells.waiting(queue) for queue in WorkQueue}
    for queue, waiting in held.items():
        if waiting > MOST_WAITING:
            bells.clear(queue)
    return held
