"""A log that can fail without failing those who write to it: a full disk, a closed pipe, a reader asleep.

What is told of a deed must never undo it, so a line that cannot be written is dropped and counted. The next
line that can be written follows one that says how many are missing, and why.
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
"""How long one line waits for a reader that is behind; the lines after a lost one do not wait."""

_NOWHERE = -1


class LogFile(io.RawIOBase):
    """Writes to a file descriptor, and never raises.

    It takes no lock: a child that was forked while another thread wrote would wait for it for ever.
    """

    def __init__(self, descriptor: int) -> None:
        """Write to a descriptor that somebody else opened, and closes."""
        self._descriptor = descriptor
        self._lost = 0
        self._torn = False
        self._why = ""

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor, for those who write to it by themselves."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._descriptor != _NOWHERE and os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Write a line, or drop and count it; a line that was begun is ended before the next one."""
        line = bytes(data)
        is_told = self._put(self._confession() + line if self._lost else line)
        self._lost = 0 if is_told else self._lost + 1
        return len(line)

    def _confession(self) -> bytes:
        facts = {
            "event": "log_lines_lost",
            "lines": self._lost,
            "error": self._why,
            "level": "warning",
            "timestamp": datetime.now(UTC).isoformat(),
        }
        return b"\n" * self._torn + json.dumps(facts).encode() + b"\n"

    def _put(self, line: bytes) -> bool:
        """Write all of it in as few steps as can be had without waiting for a reader."""
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
    """A pipe that takes more takes at least so much at once; a file and a socket get the line whole."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        is_pipe = False
    return select.PIPE_BUF if is_pipe else max(size, 1)


def _takes_more(descriptor: int, patience_ms: int) -> bool:
    """Whether a write would not wait. What is closed takes everything, and says so then."""
    if descriptor == _NOWHERE:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(patience_ms))


def steady(stream: TextIO | None) -> TextIO:
    """A stream to the same place that never raises; to nowhere for a process without one.

    A process that was started without standard error must not write there by number: the number may by now
    be that of a connection. A stream that is no file, as a test may put there, is left as it is.
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
    """Put a steady stream in the place of standard error, for every library too, and return it."""
    stream = steady(sys.stderr)
    if sys.stderr is sys.__stderr__:  # whoever put another stream there wants its lines
        vars(sys).update(stderr=stream, __stderr__=stream)
    return stream


def steady_output() -> None:
    """The same for standard output, where a service says nothing but that it starts and ends."""
    if sys.stdout is sys.__stdout__:
        stream = steady(sys.stdout)
        vars(sys).update(stdout=stream, __stdout__=stream)
