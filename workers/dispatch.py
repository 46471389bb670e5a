"""The dispatcher rings bells for due work: broker messages that wake a worker and name no work."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import FrameType
from typing import Any

import psycopg
import structlog
from celery import Celery
from kombu import Queue
from kombu.exceptions import ChannelError, OperationalError
from kombu.exceptions import OperationalError as BrokerError
from sqlalchemy.exc import SQLAlchemyError

from llm.settings import llm_settings
from models.database import read_transaction, transaction
from models.database_settings import database_settings
from models.due_work.fair_claim import Due, look
from models.due_work.heartbeat import QUEUES_HELD
from models.due_work.kinds import WorkQueue
from models.due_work.queue import WAKE_CHANNEL, WorkKind
from models.due_work.waiting import release_parked
from models.process_start import or_exit, require_settings, tell_start
from models.telemetry.logging import configure_logging
from models.telemetry.tracing import close_traces, name_process
from workers.app import app
from workers.settings import RUNG_AT, TaskName, WorkerSettings, worker_settings
from workers.telemetry import show_life, show_loop

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


log = structlog.get_logger()

HEARTBEAT_S = 5.0
TROUBLE_PAUSE_S = 1.0


def dispatch_once(bells: Bells, settings: WorkerSettings) -> int:
    """Ring for each queue with due work, up to the allowed number of bells. Returns the number of bells sent.

    Nothing is marked: a lost bell is rung again at the next look, as long as work is due.
    """
    with read_transaction() as db:
        due = look(db, list(WorkKind), isolated=True, most=settings.bells_ahead)
    return sum(ring_for(due, bells, most=settings.bells_ahead).values())


def look_at_models(settings: WorkerSettings) -> None:
    """Release a part of the work waiting for now available models."""
    per_minute = llm_settings().llm_calls_per_minute
    with transaction() as db:
        released = release_parked(db, look_s=settings.model_look_s, calls_per_minute=per_minute)
    if released:
        log.info("parked_work_released", released=released)


class Waker:
    """Waits for a request for awaited work, or for the next poll."""

    def __init__(self, database_url: str) -> None:
        """Prepare to listen at the first wait."""
        self._url = database_url
        self._connection: psycopg.Connection | None = None

    def wait(self, timeout_s: float) -> None:
        """Return at a wake-up or after the timeout; without a database, after the timeout."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=3)
                self._connection.execute(f"listen {WAKE_CHANNEL}")
            for _ in self._connection.notifies(timeout=timeout_s, stop_after=1):
                pass
        except psycopg.Error:
            self.close()
            time.sleep(timeout_s)

    def close(self) -> None:
        """Stop listening."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def run(is_over: Callable[[], bool], settings: WorkerSettings) -> None:
    """Dispatch until told to stop, through any outage of the database or the broker.

    Args:
        is_over: Function that tells when to stop; called between two looks.
        settings: Interval of looks, and maximum number of bells.
    """
    bells = Bells(app)
    waker = Waker(database_settings().listening_url)
    next_beat = next_look = 0.0
    held: dict[str, int] = {}
    while not is_over():
        show_loop()
        try:
            if time.monotonic() >= next_beat:
                show_life("dispatcher", {QUEUES_HELD: held})
                next_beat, held = time.monotonic() + HEARTBEAT_S, {}
                held = dict(keep_short(bells))
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + settings.model_look_s
                look_at_models(settings)
            dispatch_once(bells, settings)
        except (SQLAlchemyError, BrokerError, OSError) as error:
            log.warning("dispatch_failed", error=type(error).__name__)
            time.sleep(TROUBLE_PAUSE_S)
            continue
        waker.wait(settings.poll_s)
    waker.close()
    close_traces()


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    configure_logging()
    name_process("dispatcher")
    with or_exit():
        require_settings()
        settings = worker_settings()
        llm_settings()
    tell_start("dispatcher")
    # No lock: a handler runs between any two lines of ours, also where an event's own lock is held.
    asked: list[int] = []

    def ask(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    run(lambda: bool(asked), settings)


if __name__ == "__main__":
    main()
