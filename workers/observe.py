"""Signs of life of a background process, and what it counts of its work."""

import os
import socket
from functools import lru_cache
from typing import Any

from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from llm.settings import llm_settings
from models.budget import budget_settings
from models.caps_in_force import DETAIL, told
from models.counting import Counted, Flusher, count
from models.heartbeat import ARTIFACT_PROMPT, beat
from models.session import transaction

INSTANCE = f"{socket.gethostname()}:{os.getpid()}"

DONE = "done"
OTHER_ENDS = ("lease lost", "put off", "given up", "discarded")
"""How work ends that did not do what it was for: the first words of its outcome."""


def show_life(role: str, detail: dict[str, Any] | None = None) -> None:
    """Say in the database that this role is at work, and with what."""
    with transaction() as db:
        beat(db, role, INSTANCE, detail)


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
