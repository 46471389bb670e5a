"""Find and end whatever a dead keeper left behind, by the directory that all of it works for."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "AFTERTURN_STACK"
"""The environment variable that names the stack's directory to every process of it."""

WORKPLACES = ("postgres", "postgres.new", "tmp")
"""Where servers work, in the stack's directory. Whoever is elsewhere in it only looks: the shell of a person
who reads its logs is none of ours."""

GRACE_S = 5.0
PROC = Path("/proc")


def is_zombie(process: Path) -> bool:
    """Whether a process, by its directory in /proc, has ended and only waits for its parent to hear of it."""
    return (process / "stat").read_text().rpartition(") ")[2].startswith("Z")


def _is_marked(process: Path, home: Path) -> bool:
    return f"{MARK}={home}".encode() in (process / "environ").read_bytes().split(b"\0")


def _works_inside(process: Path, home: Path) -> bool:
    """PostgreSQL overwrites its environment, but always works in its data directory."""
    place = (process / "cwd").readlink()
    return any(place.is_relative_to(home / name) for name in WORKPLACES)


def _belongs(process: Path, home: Path) -> bool:
    # It may end, or turn out to be somebody else's, while one looks at it.
    with suppress(OSError):
        return not is_zombie(process) and (_works_inside(process, home) or _is_marked(process, home))
    return False


def processes_of(home: Path) -> Iterator[int]:
    """The pids of every live process that works for the stack in `home`, this one excepted.

    Args:
        home: The stack's directory, resolved. Without /proc, nothing is found.
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
    """End every process of a stack whose keeper is dead.

    Call it only while holding the directory's lock. PostgreSQL gets the chance to give its shared
    memory back before it is killed.

    Args:
        home: The stack's directory, resolved.

    Returns:
        How many processes there were.
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
