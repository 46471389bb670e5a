"""Logs and signs of life: ids and numbers, never text of a conversation."""

import logging
import os
import socket
import sys
from typing import Any

import structlog

from llm.settings import llm_settings
from models.heartbeat import beat
from models.session import transaction

INSTANCE = f"{socket.gethostname()}:{os.getpid()}"


def configure_logging() -> None:
    """Write structured lines to standard error, our own and the libraries' warnings."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )


def show_life(role: str, detail: dict[str, Any] | None = None) -> None:
    """Say in the database that this role is at work, and with what."""
    with transaction() as db:
        beat(db, role, INSTANCE, detail)


def models_in_use() -> dict[str, str]:
    """Which models this worker asks, for those who cannot see its settings."""
    llm = llm_settings()
    return {"summarizer": llm.summarizer_model, "planner": llm.context_planner_model}
