"""How every process writes its log: one JSON object a line, ids and numbers, never text of a conversation."""

import logging
import sys

import structlog

from models.tracing import add_trace


def configure_logging() -> None:
    """Write structured lines to standard error."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            add_trace,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
