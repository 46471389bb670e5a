"""Numbers by key in memory that all processes of a group share: bounded, and exact under kill -9."""

import fcntl
import itertools
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, TypeAlias

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
