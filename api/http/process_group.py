"""The processes that serve together: their number, and each one's pid and state, in memory that all share."""

import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

_ROW = struct.Struct("=IBxxxdI")
_USED = struct.Struct("=d")


@dataclass(frozen=True)
class Member:
    """A process of the group.

    Attributes:
        pid: Its pid; 0 while no process has the place.
        is_ready: True once it takes calls.
        started_at: Time of its start, by the monotonic clock.
        connections: Number of its open connections, a moment ago.
    """

    pid: int
    is_ready: bool
    started_at: float
    connections: int = 0


class ProcessGroup:
    """The places of processes that serve the same port; a process alone is a group of one."""

    def __init__(self) -> None:
        """Begin as a process alone."""
        self.own, self.parent_pid = 0, None
        self.forgets: list[Callable[[int], None]] = []
        self.widen(1)

    parent_pid: int | None
    """Pid of the process that keeps the others alive; None without such a process."""

    def widen(self, size: int) -> None:
        """Make places; whatever the processes count together is made after this call and before the fork.

        Args:
            size: Number of places, >= 1.
        """
        self.size = size
        self._memory = mmap.mmap(-1, _USED.size + size * _ROW.size)

    def at_death(self, forget: Callable[[int], None]) -> None:
        """Have the parent call a function with the place of each process that dies."""
        if self.size > 1:
            self.forgets.append(forget)

    def join(self, place: int) -> None:
        """Take a place as this process, which takes no calls yet."""
        self.own = place
        self._write(place, Member(os.getpid(), is_ready=False, started_at=time.monotonic()))

    def tell_ready(self) -> None:
        """Say that this process takes calls from now on."""
        self._write(self.own, replace(self.member(self.own), pid=os.getpid(), is_ready=True))

    def tell_connections(self, number: int) -> None:
        """Tell the others how many connections this process has."""
        self._write(self.own, replace(self.member(self.own), connections=number))

    def fewest_connections(self) -> int:
        """Return the least number of connections of a process that takes calls."""
        return min((one.connections for one in self.members() if one.is_ready), default=0)

    def leave(self, place: int, used_s: float) -> None:
        """Free the place of a dead process and all that it holds, and keep the sum of used processor time."""
        self._write(place, Member(pid=0, is_ready=False, started_at=0.0))
        for forget in self.forgets:
            forget(place)
        _USED.pack_into(self._memory, 0, self.used_by_dead_s + used_s)

    @property
    def used_by_dead_s(self) -> float:
        """Processor time of dead processes, in seconds."""
        used: float = _USED.unpack_from(self._memory, 0)[0]
        return used

    def member(self, place: int) -> Member:
        """Return the process of a place."""
        pid, is_ready, *rest = _ROW.unpack_from(self._memory, _USED.size + place * _ROW.size)
        return Member(pid, bool(is_ready), *rest)

    def members(self) -> Iterator[Member]:
        """Yield the living processes."""
        yield from (one for one in map(self.member, range(self.size)) if one.pid)

    def pids(self) -> list[int]:
        """List the pids of parent and processes; of a process alone, its own."""
        if self.parent_pid is None:
            return [os.getpid()]
        return [self.parent_pid, *(one.pid for one in self.members())]

    def _write(self, place: int, member: Member) -> None:
        row = (member.pid, member.is_ready, member.started_at, member.connections)
        _ROW.pack_into(self._memory, _USED.size + place * _ROW.size, *row)


_CGROUP = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Count the processors that this process may use: those it may run on, within its container's limit."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _CGROUP.read_text().split()
        limit = int(quota) // int(period)
    except (OSError, ValueError):  # no such limit, or "max"
        return cores
    return max(min(cores, limit), 1)


group = ProcessGroup()
"""The group of this process."""
