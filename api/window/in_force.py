"""Which models workers ask now, and how: what they make answers exactly, what another made says so."""

import threading
import time
from collections.abc import Callable
from contextvars import Context

import structlog
from sqlalchemy.exc import SQLAlchemyError

from models.artifact_lookup import Maker
from models.heartbeat import ARTIFACT_PROMPT, find_agreed
from models.session import reading

log = structlog.get_logger()

KEPT_S = 10.0
"""How long an answer is used: operators change models, requests do not."""


class Known:
    """What workers say of themselves, read now and then by whichever request comes."""

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing known of a detail of this name."""
        self._name, self._now = name, now
        self._lock = threading.Lock()
        self._value: str | None = None
        self._until = 0.0

    def find(self) -> str | None:
        """The detail on which all workers agree; None while they do not, or none is at work."""
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
        """Read anew at the next question."""
        self._value, self._until = None, 0.0

    def _read(self) -> str | None:
        with reading() as db:
            return find_agreed(db, "worker", self._name)


summarizer = Known("summarizer")
"""The model that summarizes where a request names none."""

planner = Known("planner")
"""The model that plans where a request names none."""

prompt = Known(ARTIFACT_PROMPT)
"""The version of the prompt by which it is asked for what artifacts say."""


def find_maker(named: str = "") -> Maker:
    """Whose summaries answer a request exactly.

    Args:
        named: The summarizer that the request names; empty for none.
    """
    return Maker(named or summarizer.find(), prompt.find())


def forget() -> None:
    """Ask anew what workers say."""
    for known in (summarizer, planner, prompt):
        known.forget()
