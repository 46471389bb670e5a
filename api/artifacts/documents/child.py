"""Child process for reading a possibly hostile document: limits itself, reads, answers, and ends."""

import json
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

MEMORY = 3
"""Exit code of a process out of memory."""


@dataclass(frozen=True)
class DocumentLimits:
    """Resource limits of reading a document.

    Attributes:
        memory_bytes: Address space of the process.
        cpu_s: Processor time of the process, in seconds, >= 1.
        most_chars: The longest text.
        most_pages: The most pages.
        most_stream_bytes: Largest size of a decompressed part.
    """

    memory_bytes: int
    cpu_s: int
    most_chars: int
    most_pages: int
    most_stream_bytes: int


class UnreadableError(Exception):
    """Reason for refusing a document, in words for the sender, with the exceeded limit."""

    def __init__(self, why: str, *, limit: int | None = None) -> None:
        """Keep the reason and the limit."""
        super().__init__(why)
        self.why = why
        self.limit = limit


@dataclass(frozen=True)
class Extracted:
    """The text of a document.

    Attributes:
        text: The text, in reading order.
        title: The document's own title; empty for none.
        notes: Omitted parts.
    """

    text: str
    title: str = ""
    notes: tuple[str, ...] = ()


class Collector:
    """Collector of text up to a limit."""

    def __init__(self, most_chars: int) -> None:
        """Start empty."""
        self.parts: list[str] = []
        self._room = most_chars
        self._most = most_chars

    def add(self, text: str) -> None:
        """Add text.

        Raises:
            UnreadableError: The text exceeds the limit.
        """
        self._room -= len(text)
        if self._room < 0:
            raise UnreadableError(f"its text is longer than {self._most} characters", limit=self._most)
        self.parts.append(text)


def serve(extract: Callable[[bytes, DocumentLimits], Extracted]) -> None:
    """Read standard input under the limits in the first argument; answer on standard output."""
    limits = DocumentLimits(**json.loads(sys.argv[1]))
    confine(limits)
    try:
        answer = asdict(extract(sys.stdin.buffer.read(), limits))
    except UnreadableError as error:
        answer = {"refused": error.why, "limit": error.limit}
    except (MemoryError, RecursionError):
        sys.exit(MEMORY)
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.flush()


def confine(limits: DocumentLimits) -> None:
    """Restrict the process to the needs of a document: memory, time, no files, no core dump."""
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
