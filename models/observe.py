"""How every process writes its log: one JSON object a line, ids and numbers, never text of a conversation.

That holds for what libraries log of us too, and for an error that ends a thread or the process: their own
way is to print its words.

Processes of one pool share a log, so a line is one write with its end: `print` makes two of them where
standard error is unbuffered, and the line of another process comes in between. A line that cannot be
written is dropped, counted and told of later: see `models.log_file`.
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

from models.error_facts import facts_of, kind_of
from models.log_file import steady_errors, steady_output
from models.tracing import add_trace

MOST_CHARS = 400
"""The longest that a library's own words may be in a line."""

_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    add_trace,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso"),
)
_TRACEBACK = "Traceback (most recent call last)"
_WARNING = re.compile(r".*?:\d+: \w+")
"""Of a warning its place and its class; what follows may quote a value."""

log = structlog.get_logger()


def configure_logging(*, is_command: bool = False, **_: Any) -> None:
    """Write structured lines to standard error: ours, libraries' from a warning up, and last words.

    Args:
        is_command: Whether standard output has the answer of a command, so that a failure to write there
            must be seen; that of a service has nothing that is worth its end.
    """
    errors = steady_errors()
    if not is_command:
        steady_output()
    render = structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*_SHARED, _tell_error, render],
        logger_factory=structlog.WriteLoggerFactory(errors),
        wrapper_class=_Logger,
    )
    handler = _Handler(errors)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[_tell_record, structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
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


class _Logger(structlog.make_filtering_bound_logger(logging.INFO)):  # type: ignore[misc]
    """Tells of a deed and never ends it: a line that cannot be made is told of by its error's kind."""

    def _proxy_to_logger(self, method_name: str, event: str | None = None, **facts: Any) -> Any:
        try:
            return super()._proxy_to_logger(method_name, event, **facts)
        except Exception as error:  # noqa: BLE001 (whatever a value does when it is written)
            _tell_unmade(error)


class _Handler(logging.StreamHandler[TextIO]):
    """The same for a library's line; Python's own way is to print its words."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the library's name)
        del record
        error = sys.exc_info()[1]
        if error is not None:
            _tell_unmade(error)


def _tell_unmade(error: BaseException) -> None:
    sys.stderr.write(
        json.dumps({"event": "log_line_failed", "level": "error", "error": kind_of(error)}) + "\n"
    )


def _tell_error(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """An error that comes with a line is told by its kind and place."""
    error = event.pop("exc_info", None)
    error = sys.exc_info() if error is True else error
    error = error[1] if isinstance(error, tuple) else error
    return {**event, **facts_of(error)} if isinstance(error, BaseException) else event


def _tell_record(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """A library's line: its template where an error comes with it, as the rest would be the error's words."""
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
    """A line with its values, errors among them by their kind, and no more of it than a line."""
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
    """A thread that is told to exit has no error to tell of."""
    if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
        log.critical("thread_failed", exc_info=args.exc_value)
