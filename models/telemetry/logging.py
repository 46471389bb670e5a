"""Logging of every process: one JSON object a line, to a file that fails without failing writers.

Logging must never undo the logged deed, so an unwritable line is dropped and counted. The next writable line
follows a line with the number of missing lines and the reason.

The rule holds also for lines of libraries, and for an error that ends a thread or the process: by default the
error's message would be printed. Processes of a pool share a log, so each line is a single write with the
line
end: `print` makes two writes with unbuffered standard error, and another process' line comes in between. An
unwritable line is dropped, counted and reported later: see `models.telemetry.logging`.
"""

import errno
import io
import json
import logging
import os
import re
import select
import stat
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from models.database_errors import facts_of, kind_of
from models.telemetry.tracing import add_trace

PATIENCE_MS = 200
"""Longest wait of a line for a slow reader; lines after a lost line do not wait."""

_NOWHERE = -1


class LogFile(io.RawIOBase):
    """A writer to a file descriptor, without any exception.

    The writer takes no lock: a child forked while another thread wrote would wait for the lock for ever.
    """

    def __init__(self, descriptor: int) -> None:
        """Write to a descriptor opened and closed by somebody else."""
        self._descriptor = descriptor
        self._lost = 0
        self._torn = False
        self._why = ""

    def writable(self) -> bool:
        """Return True always."""
        return True

    def fileno(self) -> int:
        """Return the descriptor, for direct writers."""
        return self._descriptor

    def isatty(self) -> bool:
        """Check whether the descriptor is a terminal."""
        return self._descriptor != _NOWHERE and os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Write a line, or drop and count the line; an unfinished line is ended before the next line."""
        line = bytes(data)
        is_told = self._put(self._confession() + line if self._lost else line)
        self._lost = 0 if is_told else self._lost + 1
        return len(line)

    def _confession(self) -> bytes:
        facts = {
            "timestamp": datetime.now(UTC).isoformat(),
            "level": "warning",
            "event": "log_lines_lost",
            "error": self._why,
            "lines": self._lost,
        }
        return b"\n" * self._torn + json.dumps(facts).encode() + b"\n"

    def _put(self, line: bytes) -> bool:
        """Write the whole line in as few steps as possible without waiting for a reader."""
        step, written = _step(self._descriptor, len(line)), 0
        try:
            while written < len(line):
                if not _takes_more(self._descriptor, 0 if self._lost else PATIENCE_MS):
                    raise BlockingIOError(errno.EAGAIN, "nobody reads it")
                written += os.write(self._descriptor, line[written : written + step])
        except OSError as error:
            self._why = errno.errorcode.get(error.errno or 0, "OSError")
            self._torn = self._torn or written > 0
            return False
        self._torn = False
        return True


def _step(descriptor: int, size: int) -> int:
    """Return the size of a write step, safe for a ready pipe; files and sockets get the whole line."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        is_pipe = False
    return select.PIPE_BUF if is_pipe else max(size, 1)


def _takes_more(descriptor: int, patience_ms: int) -> bool:
    """Check whether a write would not wait; a closed descriptor is ready, and the write reports the error."""
    if descriptor == _NOWHERE:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(patience_ms))


def steady(stream: TextIO | None) -> TextIO:
    """Wrap a stream so that writing never raises; a process without the stream writes nowhere.

    A process started without standard error must not write there by number: the number may by now belong to a
    connection. A stream without a file, as in a test, is left unchanged.
    """
    if isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, LogFile):
        return stream
    try:
        descriptor = stream.fileno() if stream is not None else _NOWHERE
    except (OSError, ValueError):
        return stream or steady(None)
    file: Any = LogFile(descriptor)
    # A raw file below and no buffer between: each text that is written is one write, as under `python -u`.
    return io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="\n", write_through=True)


def steady_errors() -> TextIO:
    """Replace standard error with a steady stream, for every library too, and return the stream."""
    stream = steady(sys.stderr)
    if sys.stderr is sys.__stderr__:  # whoever put another stream there wants its lines
        vars(sys).update(stderr=stream, __stderr__=stream)
    return stream


def steady_output() -> None:
    """Replace standard output with a steady stream; a service prints there only at start and end."""
    if sys.stdout is sys.__stdout__:
        stream = steady(sys.stdout)
        vars(sys).update(stdout=stream, __stdout__=stream)


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
