"""Heartbeats of a background process, counts of the work, and task events for Flower.

A thread sends the events beside the work: a hanging or missing broker holds up nothing.
"""

import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError

from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from llm.settings import llm_settings
from models.database import transaction
from models.database_errors import kind_of
from models.due_work.heartbeat import ARTIFACT_PROMPT, beat, show_pool
from models.ledger.caps import DETAIL, told
from models.ledger.settings import budget_settings
from models.telemetry.counters import Counted, Flusher, count
from workers.settings import WorkerSettings, worker_settings

log = structlog.get_logger()

MOST_UNTOLD = 1_000
"""Maximum number of waiting events; further events are dropped."""

PAUSE_S = 20.0
"""Seconds without events after a failure."""

CLOSE_S = 1.0


class EventSender(Protocol):
    """A connection for events."""

    def send(self, type: str, **fields: Any) -> object:  # noqa: A002 (Celery's own name)
        """Send an event, or raise."""


@dataclass(frozen=True)
class WorkPiece:
    """A piece of work as shown by Flower.

    Attributes:
        uuid: Name of this try: the lease.
        name: Name of the task.
        work_id: Number of the work.
    """

    uuid: str
    name: str
    work_id: int


class PieceEvents:
    """Sends events of pieces of work in order, as far as the broker takes events."""

    def __init__(self, connect: Callable[[], EventSender]) -> None:
        """Start at the first event.

        Args:
            connect: Function that opens a connection for events; called again after a failure.
        """
        self._connect = connect
        self._untold: queue.Queue[tuple[str, dict[str, Any]] | None] = queue.Queue(MOST_UNTOLD)
        self._thread = threading.Thread(target=self._run, name="piece-events", daemon=True)
        self._starts = threading.Lock()
        self._is_running = False

    def begin(self, piece: WorkPiece) -> None:
        """Send the start of a piece."""
        named = {"name": piece.name, "args": f"({piece.work_id},)", "kwargs": "{}", "retries": 0}
        tree = {"root_id": piece.uuid, "parent_id": None, "eta": None, "expires": None}
        self._tell("task-received", piece, **named, **tree)
        self._tell("task-started", piece)

    def end(self, piece: WorkPiece, outcome: str, *, took_s: float, failed: bool) -> None:
        """Send the end of a piece."""
        if failed:
            self._tell("task-failed", piece, exception=outcome, traceback="")
        else:
            self._tell("task-succeeded", piece, result=repr(outcome), runtime=took_s)

    def close(self) -> None:
        """Send the remaining events within a short time."""
        if self._is_running:
            try:
                self._untold.put_nowait(None)
            except queue.Full:
                return
            self._thread.join(CLOSE_S)

    def _tell(self, what: str, piece: WorkPiece, **fields: Any) -> None:
        with self._starts:
            if not self._is_running:
                self._is_running = True
                self._thread.start()
        try:
            self._untold.put_nowait((what, {"uuid": piece.uuid, "timestamp": time.time(), **fields}))
        except queue.Full:
            return

    def _run(self) -> None:
        sender: EventSender | None = None
        silent_until = 0.0
        while (event := self._untold.get()) is not None:
            if time.monotonic() < silent_until:
                continue
            what, fields = event
            try:
                sender = sender or self._connect()
                sender.send(what, **fields)
            except Exception as error:  # noqa: BLE001 (whatever a broker's client raises: the work goes on)
                log.warning("events_untold", error=type(error).__name__)
                sender, silent_until = None, time.monotonic() + PAUSE_S


@cache
def _events_of(_pid: int, connect: Callable[[], EventSender]) -> PieceEvents:
    return PieceEvents(connect)


def piece_events(connect: Callable[[], EventSender]) -> PieceEvents:
    """Return the events of this process; a forked child has separate events."""
    return _events_of(os.getpid(), connect)


INSTANCE = f"{socket.gethostname()}:{os.getpid()}"

DONE = "done"
OTHER_ENDS = ("lease lost", "put off", "given up", "discarded")
"""First words of outcomes of unsuccessful work."""


def show_life(role: str, detail: dict[str, Any] | None = None) -> None:
    """Record a heartbeat of a role at work in the database, with a detail."""
    with transaction() as db:
        beat(db, role, INSTANCE, detail)


def show_loop() -> None:
    """Renew the time of the file of `AFTERTURN_ALIVE_FILE`, if any: the loop of this process turns.

    The loop of the dispatcher turns in an outage of the database or the broker too. The loop of a worker
    stands while the worker connects to the broker again.
    """
    path = worker_settings().alive_file
    if path is None:
        return
    try:
        path.touch()
    except OSError as error:
        log.warning("alive_file_failed", error=type(error).__name__)


class PoolSign:
    """Sign of a pool's parent, sent from the parent's own loop, to recognize the lone death of a child.

    After a failed or slow sign, the continuous life begins anew: leases may have expired meanwhile without
    any fault of the workers.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        """Set the interval: about as often as leases are renewed."""
        self._every_s = 0.7 * settings.renew_s
        self._slow_s = max(settings.renew_s, 2.0)
        self._gap_s = 3 * settings.lease_s
        self._next = 0.0
        self._anew = True

    def show(self, *, anew: bool = False) -> None:
        """Show the sign when due, or in any case for a just started parent."""
        began = time.monotonic()
        if began < self._next and not anew:
            return
        self._next = began + self._every_s
        show_loop()
        self._anew = self._anew or anew
        try:
            self._show()
            if time.monotonic() - began > self._slow_s:
                self._anew = True
                self._show()
        except SQLAlchemyError as error:
            self._anew = True
            log.warning("pool_sign_failed", error=kind_of(error))

    def _show(self) -> None:
        with transaction() as db:
            show_pool(db, INSTANCE, gap_s=self._gap_s, anew=self._anew)
        self._anew = False


def settings_in_use() -> dict[str, Any]:
    """Return this worker's models, prompt version and caps, for readers without access to the settings."""
    llm = llm_settings()
    models = {"summarizer": llm.summarizer_model, "planner": llm.context_planner_model}
    own = {ARTIFACT_PROMPT: ARTIFACT_PROMPT_VERSION, DETAIL: told(budget_settings().caps)}
    return {**models, **own}


def count_work(kind: str, outcome: str, *, took_s: float) -> None:
    """Count an ended piece of work, and the time taken, in seconds."""
    count(Counted.WORK, kind, next((end for end in OTHER_ENDS if outcome.startswith(end)), DONE))
    count(Counted.WORK_SECONDS, kind, by=took_s)


@lru_cache
def flusher() -> Flusher:
    """Return the flusher of this process' counts; the first call starts the flusher."""
    return Flusher().start()
