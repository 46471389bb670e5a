"""A log file that fails without failing the writers: full disk, closed pipe, sleeping reader.

Logging must never undo the logged deed, so an unwritable line is dropped and counted. The next writable line
follows a line with the number of missing lines and the reason.
"""

import errno
import io
import json
import os
import select
import stat
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

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
