"""Search and removal of a dead keeper's processes, by their directory."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "AFTERTURN_STACK"
"""Environment variable with the stack's directory, for every process of the stack."""

WORKPLACES = ("postgres", "postgres.new", "tmp")
"""Working directories of servers in the stack's directory.

Processes elsewhere are not touched: a person's shell may stand among the logs.
"""

GRACE_S = 5.0
PROC = Path("/proc")


def is_zombie(process: Path) -> bool:
    """Tell from its directory in /proc whether a process is a zombie."""
    return (process / "stat").read_text().rpartition(") ")[2].startswith("Z")


def _is_marked(process: Path, home: Path) -> bool:
    return f"{MARK}={home}".encode() in (process / "environ").read_bytes().split(b"\0")


def _works_inside(process: Path, home: Path) -> bool:
    """Tell whether a process works in the stack: PostgreSQL overwrites its environment, but no directory."""
    place = (process / "cwd").readlink()
    return any(place.is_relative_to(home / name) for name in WORKPLACES)


def _belongs(process: Path, home: Path) -> bool:
    # It may end, or turn out to be somebody else's, while one looks at it.
    with suppress(OSError):
        return not is_zombie(process) and (_works_inside(process, home) or _is_marked(process, home))
    return False


def processes_of(home: Path) -> Iterator[int]:
    """Yield the pids of the stack's live processes, apart from the present process.

    Args:
        home: The stack's directory, resolved. Without /proc, no process is found.
    """
    for process in PROC.glob("[0-9]*"):
        if int(process.name) != os.getpid() and _belongs(process, home):
            yield int(process.name)


def _polite_signal(pid: int, home: Path) -> signal.Signals:
    with suppress(OSError):
        if _works_inside(PROC / str(pid), home):
            return signal.SIGQUIT
    return signal.SIGKILL


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def end_leftovers(home: Path) -> int:
    """End every process of a stack with a dead keeper.

    Call only under the directory's lock. PostgreSQL can return its shared memory before being killed.

    Args:
        home: The stack's directory, resolved.

    Returns:
        Number of processes found.
    """
    found = list(processes_of(home))
    for pid in found:
        _send(pid, _polite_signal(pid, home))
    deadline = time.monotonic() + GRACE_S
    while remaining := list(processes_of(home)):
        if time.monotonic() > deadline:
            for pid in remaining:
                _send(pid, signal.SIGKILL)
        time.sleep(0.02)
    return len(found)
