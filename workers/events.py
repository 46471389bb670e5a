"""Celery task events for Flower about each piece of work, though no message ever carried the piece.

A thread sends the events beside the work: a hanging or missing broker holds up nothing.
"""

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import structlog

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
