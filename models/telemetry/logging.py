"""Logging of every process: one JSON object a line, ids and numbers, never text of a conversation.

The rule holds also for lines of libraries, and for an error that ends a thread or the process: by default the
error's message would be printed. Processes of a pool share a log, so each line is a single write with the
line
end: `print` makes two writes with unbuffered standard error, and another process' line comes in between. An
unwritable line is dropped, counted and reported later: see `models.telemetry.log_file`.
"""

import json
import logging
import re
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from models.errors import facts_of, kind_of
from models.telemetry.log_file import steady_errors, steady_output
from models.telemetry.tracing import add_trace

MOST_CHARS = 400
"""Maximum length of a library's own words in a line."""

KEYS_FIRST = ("timestamp", "level", "event", "logger", "request_id", "work_id")
"""Keys at the beginning of each line; the others follow by name."""

_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    add_trace,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso"),
)
_TRACEBACK = "Traceback (most recent call last)"
_WARNING = re.compile(r".*?:\d+: \w+")
"""Place and class of a warning; the rest may quote a value."""

log = structlog.get_logger()


def configure_logging(*, is_command: bool = False, **_: Any) -> None:
    """Write structured lines to standard error: ours, libraries' from a warning up, and last words.

    Args:
        is_command: True if standard output has the answer of a command, so that a failed write must be seen;
            a service's standard output has nothing important. A command writes warnings and errors alone:
            its answer says the rest.
    """
    errors = steady_errors()
    if not is_command:
        steady_output()
    render = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*_SHARED, _tell_error, _order_keys, render],
        logger_factory=structlog.WriteLoggerFactory(errors),
        wrapper_class=_CommandLogger if is_command else _Logger,
    )
    handler = _LogHandler(errors)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[
                _tell_record,
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _order_keys,
                render,
            ],
            use_get_message=False,
            pass_foreign_args=True,
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    sys.excepthook = _process_ends
    threading.excepthook = _thread_ends


class _NeverRaises:
    """A logger that never raises: a failure to build a line is logged by the kind of the error."""

    def _proxy_to_logger(self, method_name: str, event: str | None = None, **facts: Any) -> Any:
        try:
            return super()._proxy_to_logger(method_name, event, **facts)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 (whatever a value does when it is written)
            _tell_unmade(error)


class _Logger(_NeverRaises, structlog.make_filtering_bound_logger(logging.INFO)):  # type: ignore[misc]
    """The logger of a service."""


class _CommandLogger(_NeverRaises, structlog.make_filtering_bound_logger(logging.WARNING)):  # type: ignore[misc]
    """The logger of a command."""


class _LogHandler(logging.StreamHandler[TextIO]):
    """A handler for libraries' lines that never raises; Python's default would print the error's message."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the library's name)
        del record
        error = sys.exc_info()[1]
        if error is not None:
            _tell_unmade(error)


def _tell_unmade(error: BaseException) -> None:
    sys.stderr.write(
        json.dumps({"level": "error", "event": "log_line_failed", "error": kind_of(error)}) + "\n"
    )


def _tell_error(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Replace an error in a line by kind and place."""
    error = event.pop("exc_info", None)
    error = sys.exc_info() if error is True else error
    error = error[1] if isinstance(error, tuple) else error
    return {**event, **facts_of(error)} if isinstance(error, BaseException) else event


def _order_keys(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Order the keys of a line; values bound to a request or a piece of work come in no order."""
    first = [key for key in KEYS_FIRST if key in event]
    return {key: event[key] for key in (*first, *sorted(event.keys() - {*first}))}


def _tell_record(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Write a library's line; with an error only the template, since the rest would quote the error."""
    record: logging.LogRecord = event["_record"]
    event["logger"] = record.name
    arguments = event.pop("positional_args")
    if event.get("exc_info"):
        event["event"] = event["event"].split("\n")[0]
    elif record.name == "py.warnings":
        told = _WARNING.match(str(arguments[0]) if arguments else event["event"])
        event["event"] = told[0] if told else "a warning"
    else:
        event["event"] = _filled(event["event"], arguments)
    return _tell_error(logger, name, event)


def _filled(template: str, arguments: object) -> str:
    """Fill a template with values, errors by kind, cut to the length of a line."""
    if isinstance(arguments, Mapping):
        arguments = {name: _quiet(value) for name, value in arguments.items()}
    elif isinstance(arguments, tuple):
        arguments = tuple(_quiet(value) for value in arguments)
    try:
        words = template % arguments if arguments else template
    except (TypeError, ValueError, KeyError):
        words = template
    before, found, _ = words.partition(_TRACEBACK)
    return (f"{before}an error" if found else words.strip())[:MOST_CHARS]


def _quiet(value: object) -> object:
    return kind_of(value) if isinstance(value, BaseException) else value


def _process_ends(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        log.critical("process_failed", exc_info=error)


def _thread_ends(args: threading.ExceptHookArgs) -> None:
    """Log the error of a thread; an exiting thread has no error to log."""
    if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
        log.critical("thread_failed", exc_info=args.exc_value)
