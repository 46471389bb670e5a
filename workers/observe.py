"""Signs of life of a background process, and what it counts of its work."""

import os
import socket
import time
from functools import lru_cache
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from llm.settings import llm_settings
from models.budget import budget_settings
from models.caps_in_force import DETAIL, told
from models.counting import Counted, Flusher, count
from models.error_facts import kind_of
from models.heartbeat import ARTIFACT_PROMPT, beat
from models.session import transaction
from models.work_loss import show_pool
from workers.settings import WorkerSettings

log = structlog.get_logger()

INSTANCE = f"{socket.gethostname()}:{os.getpid()}"

DONE = "done"
OTHER_ENDS = ("lease lost", "put off", "given up", "discarded")
"""How work ends that did not do what it was for: the first words of its outcome."""


def show_life(role: str, detail: dict[str, Any] | None = None) -> None:
    """Record a heartbeat of a role at work in the database, with a detail."""
    with transaction() as db:
        beat(db, role, INSTANCE, detail)


class PoolSign:
    """The parent of a pool says that it is there, in its own loop: a child that dies alone is known by it.

    After a sign that failed or took long it begins anew: leases may have run out meanwhile, and their
    workers had no part in it.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        """Say it about as often as leases are renewed."""
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
    """Which models this worker asks, how, and by which caps: for those who cannot see its settings."""
    llm = llm_settings()
    models = {"summarizer": llm.summarizer_model, "planner": llm.context_planner_model}
    own = {ARTIFACT_PROMPT: ARTIFACT_PROMPT_VERSION, DETAIL: told(budget_settings().caps)}
    return {**models, **own}


def count_work(kind: str, outcome: str, *, took_s: float) -> None:
    """Count a piece of work that was ended, and what it took, in seconds."""
    count(Counted.WORK, kind, next((end for end in OTHER_ENDS if outcome.startswith(end)), DONE))
    count(Counted.WORK_SECONDS, kind, by=took_s)


@lru_cache
def flusher() -> Flusher:
    """What adds this process's counts to Postgres; started by the first call."""
    return Flusher().start()
