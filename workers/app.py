"""The Celery application. It carries bells only: if Redis loses every bell, nothing is lost."""

import gc
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from billiard import pool
from billiard.common import terminate_handler_fired
from celery import Celery
from celery.signals import (
    after_task_publish,
    beat_init,
    celeryd_init,
    heartbeat_sent,
    setup_logging,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutting_down,
)
from kombu import Exchange, Queue
from kombu.transport import virtual
from kombu.transport.redis import Channel, QoS

from llm.settings import EXTRACTIVE, LlmSettings, llm_settings
from models.database_settings import database_settings
from models.due_work.kinds import WorkQueue
from models.ledger.settings import budget_settings
from models.process_start import or_exit, require_settings, tell_start
from models.telemetry.logging import configure_logging
from models.telemetry.tracing import close_traces, name_process
from workers.drain import end_places
from workers.settings import TaskName, worker_settings
from workers.telemetry import PoolSign, flusher, settings_in_use, show_life, show_loop

# A bell whose connection broke is not put back into its queue: the dispatcher rings again. Kombu would
# use the closed connection for it, and the error ends the whole worker, in the middle of a call.
Channel.do_restore = False


class LocalAcks(QoS):  # type: ignore[misc]
    """Acknowledgement that counts a bell as taken whether or not the broker hears of it.

    By default Kombu counts a bell only after the broker's answer. On a connection that swallows the
    acknowledgement, the bell would occupy a process for ever, and the worker would silently take no other
    bell.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a bell to the broker, and in any case locally."""
        try:
            super().ack(delivery_tag)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


Channel.QoS = LocalAcks

_stopping = mmap.mmap(-1, 1)
"""Stop flag of the worker, shared with every forked process."""


def asked_to_stop() -> bool:
    """Check whether the worker was asked to stop; the only way for a process of the pool to know."""
    return _stopping[0] != 0


_heartbeat = memoryview(mmap.mmap(-1, 8)).cast("d")
"""Time of the last heartbeat of the worker's parent by the clock of the machine, shared with every fork."""

HEARTBEAT_GAP_S = 4.0
"""Seconds without a heartbeat after which bells do not come; Celery sends a heartbeat each 2 s."""


def hears_bells() -> bool:
    """Check whether the worker's parent still takes messages and starts processes.

    The parent waits for the broker while the broker is away or hangs: meanwhile a process of the pool gets
    nothing to do, and an ended process has no successor.
    """
    return time.monotonic() - _heartbeat[0] < HEARTBEAT_GAP_S


SILENT_S = 1.0
"""Seconds without a message after which a process of the pool asks whether the worker hears bells."""


class BetweenMessages:
    """Hooks of a process of the pool between two messages.

    Celery's own limit counts messages: a process would end, and a new process start, after a number of bells
    without news.
    """

    def __init__(self) -> None:
        """Start without hooks."""
        self.is_spent: Callable[[], bool] = lambda: False
        self.ring: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Before each message end a spent process, and ring in each second without a message and a broker."""
        make = pool.Worker._make_child_methods  # noqa: SLF001 (there is no public place for it)

        def make_and_watch(worker: Any, *args: Any) -> None:
            make(worker, *args)
            wait_for_job = worker.wait_for_job

            def wait() -> Any:
                while not self.is_spent():
                    if worker.inq._reader.poll(SILENT_S):  # noqa: SLF001
                        return wait_for_job()
                    if not hears_bells():
                        self.ring()
                sys.exit(pool.EX_RECYCLE)

            worker.wait_for_job = wait

        pool.Worker._make_child_methods = make_and_watch  # noqa: SLF001


between_messages = BetweenMessages()
between_messages.install()

CLOCKS_APART_S = 7_200
"""Tolerated difference of two machines' clocks. Celery compares a tick's expiry with the clock of the taking
machine: a worker with a clock ahead by more than a tick's life would take no tick.
"""

settings = worker_settings()
SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {
        "task": TaskName.TICK,
        "schedule": settings.tick_s,
        # A tick that nobody took is worth nothing once the next one is there.
        "options": {
            "queue": WorkQueue.MAINTENANCE.value,
            "expires": settings.tick_s + CLOCKS_APART_S,
        },
    }
}
pool_sign = PoolSign(settings)
app = Celery("afterturn", include=["workers.tasks"])
app.conf.update(
    broker_url=settings.broker_url,
    broker_transport_options={
        # Above the hard limit: a running task is never redelivered. The lease in Postgres is what counts.
        "visibility_timeout": settings.visibility_timeout_s,
        # Kombu looks for unacknowledged messages often; its default is every 100 s.
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        # A half-open connection is noticed in seconds, not when the kernel gives up.
        "socket_timeout": 5,
        "socket_connect_timeout": 3,
        "socket_keepalive": True,
        "health_check_interval": 5,
        # Who rings gives up soon: there are other queues, and a bell is rung again.
        "connect_retries_timeout": 1,
        "interval_start": 0.2,
        "interval_step": 0.2,
    },
    # The broker may come later than we do, and may go away for as long as it likes.
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A bell is taken when its task starts: a crash is found by the lease, never by the broker. To take it
    # later would end a worker that has lost its broker meanwhile: Kombu 5.7 fails on the closed channel.
    task_acks_late=False,
    # Bells stay in the broker until a process is free: nobody hoards what another could hear.
    worker_disable_prefetch=True,
    worker_prefetch_multiplier=1,
    # The lease brings work back when a worker dies; redelivery as well would be a poison loop.
    task_reject_on_worker_lost=False,
    task_retry_on_worker_lost=False,
    # A lost connection must not cancel what runs: its result goes to Postgres.
    worker_cancel_long_running_tasks_on_connection_loss=False,
    # Results are rows in Postgres.
    task_ignore_result=True,
    result_backend=None,
    task_soft_time_limit=settings.task_soft_limit_s,
    task_time_limit=settings.task_hard_limit_s,
    # Memory that a library leaks goes with its process: at this bound, or after many pieces of work.
    worker_max_memory_per_child=900_000,
    # SIGTERM waits for the piece of work that runs. On SIGQUIT, as a second Ctrl-C, it has this long before
    # it is cut; its lease then brings it back.
    worker_soft_shutdown_timeout=10,
    # Nothing but times, in a form that cannot carry code.
    task_serializer="json",
    accept_content=["json"],
    # Flower shows pieces of work, of which the processes tell; bells are not shown.
    task_send_sent_event=False,
    worker_send_task_events=True,
    # Our lines are JSON already; Celery would wrap them in lines of its own.
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    task_queues=[Queue(one.value, Exchange(one.value), routing_key=one.value) for one in WorkQueue],
    task_default_queue=WorkQueue.MAINTENANCE.value,
    task_create_missing_queues=False,
    beat_schedule=SCHEDULE,
    # Beat looks up often enough that a tick is never late by more than this.
    beat_max_loop_interval=5,
    timezone="UTC",
)


def _require_settings() -> LlmSettings:
    """Exit on wrong settings; a mere exception of a receiver would be logged by Celery and ignored."""
    with or_exit():
        require_settings()
        llm = llm_settings()
        llm.check_caps(budget_settings().caps)
        llm.check_below(
            task_soft_limit_s=settings.task_soft_limit_s, task_hard_limit_s=settings.task_hard_limit_s
        )
    return llm


# Celery's own set-up would print an error of a task with its words.
setup_logging.connect(configure_logging)


POOL_OF_A_WORKER = {
    "AFTERTURN_POOL_SIZE": "4",
    "AFTERTURN_POOL_OVERFLOW": "4",
    "AFTERTURN_POOL_TIMEOUT_S": "60",
}
"""Connections of a process of the pool: its many pieces wait for models, and take turns at the database."""

node: list[str] = []
"""Name of this worker, as shown by Flower."""


@celeryd_init.connect
def _prepare_parent(sender: str = "", **_: Any) -> None:
    """Load shared data once before the fork, so that every child shares the pages."""
    from context.tokens import count_text  # noqa: PLC0415 (beat and flower import this module too)
    from llm.gateway import preload  # noqa: PLC0415

    node[:] = [sender]
    llm = _require_settings()
    configure_logging()
    tell_start("worker")
    if {llm.summarizer_model, llm.context_planner_model} != {EXTRACTIVE}:
        preload()
    count_text("warm")
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def _prepare_child(**_: Any) -> None:
    """Configure logging, tracing and counts of a child; connections are per process by construction."""
    os.environ.setdefault("AFTERTURN_PROCESS", "worker-child")
    for name, value in POOL_OF_A_WORKER.items():
        os.environ.setdefault(name, value)
    database_settings.cache_clear()
    configure_logging()
    name_process("worker")
    flusher()


@worker_process_shutdown.connect
def _end_child(**_: Any) -> None:
    """Wait for the pieces in threads, flush the counts of the last seconds and close the traces.

    A process that is ended by a signal waits no longer than a piece of the main thread would get.
    """
    ended = terminate_handler_fired()
    end_places(app.conf.worker_soft_shutdown_timeout if ended else settings.task_hard_limit_s)
    flusher().stop()
    close_traces()


@worker_ready.connect
def _worker_lives(**_: Any) -> None:
    show_life("worker", settings_in_use())
    pool_sign.show(anew=True)
    _end_drains_when_asked()


@worker_shutting_down.connect
def _end_drains(**_: Any) -> None:
    """Ask each process to end after the present piece of work."""
    _stopping[0] = 1


def _end_drains_when_asked() -> None:
    """Ask the processes at the signal: Celery's own signal waits for tasks first, as on SIGQUIT."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        before = signal.getsignal(number)
        if callable(before):
            signal.signal(number, _telling(before))


def _telling(before: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], None]:
    def tell(number: int, frame: FrameType | None) -> None:
        _end_drains()
        before(number, frame)

    return tell


@heartbeat_sent.connect
def _pool_lives(**_: Any) -> None:
    _heartbeat[0] = time.monotonic()
    pool_sign.show()


@beat_init.connect
def _beat_lives(**_: Any) -> None:
    configure_logging()
    tell_start("beat")
    show_loop()
    show_life("beat")
    after_task_publish.connect(_beat_still_lives, weak=False)


def _beat_still_lives(**_: Any) -> None:
    """Show a heartbeat of beat after a sent tick; a mere process is no sign of work."""
    show_loop()
    show_life("beat")
