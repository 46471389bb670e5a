"""Heartbeats of a background process, and counts of the work."""

import os
import socket
import time
from functools import lru_cache
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from llm.settings import llm_settings
from models.database import transaction
from models.due_work.heartbeat import ARTIFACT_PROMPT, beat
from models.due_work.loss import show_pool
from models.errors import kind_of
from models.ledger.caps import DETAIL, budget_settings, told
from models.telemetry.counters import Counted, Flusher, count
from workers.settings import WorkerSettings, worker_settings

log = structlog.get_logger()

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
