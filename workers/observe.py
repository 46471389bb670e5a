"""Signs of life of a background process."""

import os
import socket
from typing import Any

from llm.settings import llm_settings
from models.heartbeat import beat
from models.session import transaction

INSTANCE = f"{socket.gethostname()}:{os.getpid()}"


def show_life(role: str, detail: dict[str, Any] | None = None) -> None:
    """Say in the database that this role is at work, and with what."""
    with transaction() as db:
        beat(db, role, INSTANCE, detail)


def models_in_use() -> dict[str, str]:
    """Which models this worker asks, for those who cannot see its settings."""
    llm = llm_settings()
    return {"summarizer": llm.summarizer_model, "planner": llm.context_planner_model}
