"""The processes that serve together: their number, states, and numbers by key that all share."""

import fcntl
import itertools
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, TypeAlias

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


WAYS = 8
"""Rows of a set. A key has one set; of too many keys of a set, those that matter least are dropped."""

_MARK = 16
_NO_KEY = bytes(_MARK)

Row: TypeAlias = tuple[Any, ...]


def _open_empty() -> int:
    """Open a file without a name, to be locked; in memory where there is such a thing, as disks get full."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("locks")
    with TemporaryFile() as file:
        return os.dup(file.fileno())


_LOCKS = _open_empty()
"""The file whose bytes are locked, for all rows of a process and its children; never closed."""

_first_locks = itertools.count(step=1 << 32)


class SharedRows:
    """Rows of numbers, each with a key. Made before the fork, the rows belong to parent and children alike.

    A set of rows is changed under a lock of the kernel, which a killed process gives back; a process that
    stands still in the middle holds up the keys of a single set.
    """

    def __init__(self, fields: str, worth: Callable[[Row], float], sets: int) -> None:
        """Make empty rows.

        Args:
            fields: The numbers of a row, in the letters of `struct`.
            worth: Tells how much a row matters; a row of 0 or less is dropped at once.
            sets: Number of sets, each of `WAYS` rows.
        """
        self._layout = struct.Struct(f"={_MARK}s{fields}")
        self._worth, self._sets = worth, sets
        self._set_bytes = WAYS * self._layout.size
        self._memory = mmap.mmap(-1, sets * self._set_bytes)
        self._salt = os.urandom(16)  # nobody chooses keys of one set
        self._threads = [Lock() for _ in range(min(sets, 64))]
        self._first_lock = next(_first_locks)

    @contextmanager
    def held(self, key: str) -> Iterator[tuple[bytes, dict[bytes, Row]]]:
        """Hold the set of a key: yield the key's mark and the rows of the set by mark, to be changed."""
        mark = blake2b(key.encode(), digest_size=_MARK, key=self._salt).digest()
        number = int.from_bytes(mark[:4]) % self._sets
        with self._threads[number % len(self._threads)], self._over_processes(number):
            rows = self._read(number)
            yield mark, rows
            self._write(number, rows)

    def find(self, key: str) -> Row | None:
        """Return the row of a key, or None; a row that is being changed is read before or after."""
        with self.held(key) as (mark, rows):
            return rows.get(mark)

    def edit_all(self, edit: Callable[[Row], Row]) -> None:
        """Change every row, a set at a time."""
        for number in range(self._sets):
            with self._threads[number % len(self._threads)], self._over_processes(number):
                self._write(number, {mark: edit(row) for mark, row in self._read(number).items()})

    @contextmanager
    def _over_processes(self, number: int) -> Iterator[None]:
        place = self._first_lock + number
        fcntl.lockf(_LOCKS, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            fcntl.lockf(_LOCKS, fcntl.LOCK_UN, 1, place)

    def _read(self, number: int) -> dict[bytes, Row]:
        start = number * self._set_bytes
        raw = self._memory[start : start + self._set_bytes]
        return {row[0]: row[1:] for row in self._layout.iter_unpack(raw) if row[0] != _NO_KEY}

    def _write(self, number: int, rows: dict[bytes, Row]) -> None:
        kept = [(mark, row) for mark, row in rows.items() if self._worth(row) > 0]
        if len(kept) > WAYS:
            kept = sorted(kept, key=lambda pair: self._worth(pair[1]))[-WAYS:]
        raw = b"".join(self._layout.pack(mark, *row) for mark, row in kept)
        start = number * self._set_bytes
        self._memory[start : start + self._set_bytes] = raw.ljust(self._set_bytes, b"\0")
