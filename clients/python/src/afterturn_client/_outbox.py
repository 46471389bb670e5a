"""The outbox: finished turns until the service has stored them, in memory or in a folder."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from afterturn_client.options import Options

log = logging.getLogger("afterturn_client")

_SUFFIX, _REJECTED = ".turn.json", ".rejected.json"
_numbers = count()


@dataclass(eq=False)
class Parcel:
    """A turn on its way.

    Attributes:
        session_id: The conversation.
        turn_id: The turn; makes a second delivery harmless.
        body: The encoded body of the call.
        file: The file that keeps the turn; None in memory.
        result: The answer of the service, once stored.
        error: The refusal of the service, once refused.
        given_up: True if the outbox was full and the turn made room.
    """

    session_id: str
    turn_id: str
    body: bytes
    file: Path | None = None
    result: Any = None
    error: Exception | None = None
    given_up: bool = False

    @property
    def is_settled(self) -> bool:
        """True if nothing is left to do."""
        return self.result is not None or self.error is not None or self.given_up


class Outbox:
    """Queues of turns, one a session, each sent in order; safe to use from many threads.

    Attributes:
        given_up: The number of turns that made room for newer ones.
    """

    def __init__(self, options: Options) -> None:
        """Read the turns that an earlier process left in the folder, oldest first."""
        self._most, self._most_bytes = options.outbox_turns, options.outbox_bytes
        self._folder = Path(options.outbox_dir) if options.outbox_dir is not None else None
        self._queues: dict[str, deque[Parcel]] = {}
        self._busy: set[str] = set()
        self._lock = threading.Lock()
        self._count = self._bytes = self.given_up = 0
        self._stamp = 0
        if self._folder is not None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for parcel in _left_over(self._folder):
                self._append(parcel)
                self._stamp = max(self._stamp, _stamp_of(parcel))

    def __len__(self) -> int:
        return self._count

    @property
    def turn_ids(self) -> list[str]:
        """Ids of the waiting turns, session by session."""
        with self._lock:
            return [parcel.turn_id for queue in self._queues.values() for parcel in queue]

    def has(self, session_id: str | None = None) -> bool:
        """Tell whether a turn waits: of a session, or any."""
        return bool(self._queues) if session_id is None else session_id in self._queues

    def put(self, session_id: str, turn_id: str, body: bytes) -> Parcel:
        """Add a turn; with a folder the turn is on disk when the call returns."""
        parcel = Parcel(session_id, turn_id, body)
        if self._folder is not None:
            parcel.file = _write(self._folder, parcel, self._next_stamp())
        with self._lock:
            self._append(parcel)
            while self._count > 1 and (self._count > self._most or self._bytes > self._most_bytes):
                self._give_up()
        return parcel

    def _next_stamp(self) -> int:
        """Return the time, or a little more than the last stamp where the clock was set back."""
        with self._lock:
            self._stamp = max(time.time_ns(), self._stamp + 1)
            return self._stamp

    def _append(self, parcel: Parcel) -> None:
        self._queues.setdefault(parcel.session_id, deque()).append(parcel)
        self._count += 1
        self._bytes += len(parcel.body)

    def _give_up(self) -> None:
        """Drop the oldest turn that nobody sends just now."""
        free = (queue for session_id, queue in self._queues.items() if session_id not in self._busy)
        queue = next(free, None) or next(iter(self._queues.values()))
        oldest = queue[0]
        oldest.given_up = True
        self.given_up += 1
        self._remove(oldest)
        log.warning("the outbox is full: turn %s of session %s is lost", oldest.turn_id, oldest.session_id)

    def take(self, session_id: str | None = None) -> Parcel | None:
        """Take the oldest turn whose session nobody else sends; None without any. Give it back by `leave`."""
        with self._lock:
            for name in [session_id] if session_id is not None else list(self._queues):
                if name in self._queues and name not in self._busy:
                    self._busy.add(name)
                    return self._queues[name][0]
        return None

    def leave(self, parcel: Parcel) -> None:
        """Give a taken turn back: away if settled, else first in its queue."""
        with self._lock:
            self._busy.discard(parcel.session_id)
            if parcel.is_settled:
                self._remove(parcel)

    def _remove(self, parcel: Parcel) -> None:
        queue = self._queues.get(parcel.session_id)
        if queue is None or parcel not in queue:
            return
        queue.remove(parcel)
        if not queue:
            del self._queues[parcel.session_id]
        self._count -= 1
        self._bytes -= len(parcel.body)
        if parcel.file is not None:
            with contextlib.suppress(FileNotFoundError):
                if parcel.error is not None:
                    parcel.file.rename(parcel.file.with_name(parcel.file.name.replace(_SUFFIX, _REJECTED)))
                else:
                    parcel.file.unlink()


def _write(folder: Path, parcel: Parcel, stamp: int) -> Path:
    """Write a turn so that a crash leaves the whole file or none; names sort by stamp."""
    name = f"{stamp:020}-{os.getpid()}-{next(_numbers):06}{_SUFFIX}"
    text = {"session_id": parcel.session_id, "turn_id": parcel.turn_id, "body": json.loads(parcel.body)}
    unfinished = folder / f".{name}"
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(text, file)
        file.flush()
        os.fsync(file.fileno())
    return unfinished.rename(folder / name)


def _left_over(folder: Path) -> Iterator[Parcel]:
    for file in sorted(folder.glob(f"[!.]*{_SUFFIX}")):
        parcel = _read(file)
        if parcel is not None:
            yield parcel


def _stamp_of(parcel: Parcel) -> int:
    stamp = parcel.file.name.partition("-")[0] if parcel.file else ""
    return int(stamp) if stamp.isdecimal() else 0


def _read(file: Path) -> Parcel | None:
    try:
        read = json.loads(file.read_bytes())
        body = json.dumps(read["body"], separators=(",", ":")).encode()
        return Parcel(read["session_id"], read["turn_id"], body, file)
    except FileNotFoundError:  # another process has sent the turn meanwhile
        return None
    except (OSError, ValueError, KeyError, TypeError):
        log.warning("the outbox's file %s cannot be read and stays as it is", file.name)
        return None
