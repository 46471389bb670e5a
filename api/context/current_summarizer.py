"""Models and prompts in use by the workers: own results count as exact, others are marked."""

import threading
import time
from collections.abc import Callable
from contextvars import Context

import structlog
from sqlalchemy.exc import SQLAlchemyError

from models.artifacts.summary_lookup import Maker
from models.database import read_transaction
from models.due_work.heartbeat import ARTIFACT_PROMPT, find_agreed

log = structlog.get_logger()

KEPT_S = 10.0
"""Lifetime of a cached answer, in seconds: operators change models, requests do not."""


class KnownWorkers:
    """A detail reported by the workers, refreshed from time to time by a request."""

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with an unknown detail of the given name."""
        self._name, self._now = name, now
        self._lock = threading.Lock()
        self._value: str | None = None
        self._until = 0.0

    def find(self) -> str | None:
        """Return the detail if all workers agree; None if workers differ or are missing."""
        if self._now() >= self._until and self._lock.acquire(blocking=False):
            try:
                # It belongs to no tenant, and the one of this call may not read it.
                self._value = Context().run(self._read)
                self._until = self._now() + KEPT_S
            except SQLAlchemyError as error:
                self._until = self._now() + KEPT_S
                log.warning("summarizer_not_read", error=type(error).__name__)
            finally:
                self._lock.release()
        return self._value

    def forget(self) -> None:
        """Drop the cached value."""
        self._value, self._until = None, 0.0

    def _read(self) -> str | None:
        with read_transaction() as db:
            return find_agreed(db, "worker", self._name)


summarizer = KnownWorkers("summarizer")
"""Default summarizer model."""

planner = KnownWorkers("planner")
"""Default planner model."""

prompt = KnownWorkers(ARTIFACT_PROMPT)
"""Version of the prompt for artifact summaries."""


def find_maker(named: str = "") -> Maker:
    """Name the model and prompt of exactly matching summaries.

    Args:
        named: The summarizer named by the request; empty for none.
    """
    return Maker(named or summarizer.find(), prompt.find())


def forget() -> None:
    """Drop the cached details."""
    for known in (summarizer, planner, prompt):
        known.forget()
