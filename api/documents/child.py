"""The process that reads a document which may be hostile: it limits itself, reads, answers, and ends."""

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

MEMORY = 3
"""The exit code of a process that ran out of its memory."""


@dataclass(frozen=True)
class Limits:
    """What a document may cost.

    Attributes:
        memory_bytes: Address space of the process.
        cpu_s: Its processor time, >= 1.
        most_chars: The longest text.
        most_pages: The most pages.
        most_stream_bytes: What one compressed part may grow to.
    """

    memory_bytes: int
    cpu_s: int
    most_chars: int
    most_pages: int
    most_stream_bytes: int


class UnreadableError(Exception):
    """Why a document is refused, in words for whoever sent it, and the number that it is over."""

    def __init__(self, why: str, *, limit: int | None = None) -> None:
        """Keep both."""
        super().__init__(why)
        self.why = why
        self.limit = limit


@dataclass(frozen=True)
class Extracted:
    """The text of a document.

    Attributes:
        text: The text, in the order of reading.
        title: What the document calls itself; empty for nothing.
        notes: What was left out.
    """

    text: str
    title: str = ""
    notes: tuple[str, ...] = ()


class Collector:
    """Text that grows up to a limit and no further."""

    def __init__(self, most_chars: int) -> None:
        """Start empty."""
        self.parts: list[str] = []
        self._room = most_chars
        self._most = most_chars

    def add(self, text: str) -> None:
        """Take in more.

        Raises:
            UnreadableError: It is too much.
        """
        self._room -= len(text)
        if self._room < 0:
            raise UnreadableError(f"its text is longer than {self._most} characters", limit=self._most)
        self.parts.append(text)


def serve(extract: Callable[[bytes, Limits], Extracted]) -> None:
    """Read standard input under the limits that the first argument names; answer on standard output."""
    limits = Limits(**json.loads(sys.argv[1]))
    confine(limits)
    try:
        answer = asdict(extract(sys.stdin.buffer.read(), limits))
    except UnreadableError as error:
        answer = {"refused": error.why, "limit": error.limit}
    except (MemoryError, RecursionError):
        sys.exit(MEMORY)
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.flush()


def confine(limits: Limits) -> None:
    """Take from this process what a document has no need of: memory, time, files, a core dump."""
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))
