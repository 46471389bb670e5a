"""The stack's directory: locking, remembered facts, and complete removal of a temporary directory."""

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from afterturn.stack.sweep import PROC, end_leftovers, is_zombie

ADDRESSES = "addresses.json"
"""File with a running stack's addresses; present only while the stack is ready."""

TAKEOVER_S = 20.0
"""Longest wait of a new stack for another to shut down, in seconds."""


class HomeInUseError(Exception):
    """Another live stack uses the directory."""

    def __init__(self, path: Path, pid: int) -> None:
        """Name the process to stop first."""
        super().__init__(
            f"{path} is in use by the stack of process {pid}; stop it first, or choose another directory"
        )
        self.pid = pid


class DamagedHomeError(Exception):
    """A file needed by the stack is unreadable."""


class Home:
    """Paths inside the directory, and the facts kept over a restart."""

    def __init__(self, path: Path, *, keep: bool) -> None:
        """Use the existing and locked directory `path`, kept afterwards if `keep` is set."""
        self.path = path
        self.keep = keep
        self.logs = path / "logs"
        self.temporary = path / "tmp"
        self.postgres = path / "postgres"
        self.api_key = path / "api-key"
        self._flower_auth = path / "flower-auth"
        self._memory = path / "stack.json"
        self.remembered: dict[str, Any] = self._recall()

    def _recall(self) -> dict[str, Any]:
        if not self._memory.exists():
            return {"password": secrets.token_urlsafe(24), "ports": {}}
        try:
            remembered: dict[str, Any] = json.loads(self._memory.read_text())
        except ValueError as error:
            raise DamagedHomeError(
                f"{self._memory} holds the passwords and can't be read: {error}"
            ) from error
        return remembered

    def remember(self, **facts: Any) -> None:
        """Keep facts over a restart; readable by the owner only, replaced atomically."""
        self.remembered.update(facts)
        write_private(self._memory, json.dumps(self.remembered))

    @property
    def password(self) -> str:
        """Password of the stack's PostgreSQL and Valkey."""
        return str(self.remembered["password"])

    @property
    def flower_auth(self) -> str:
        """Credentials for Flower, as `name:password`; made on first use."""
        kept = self._flower_auth.read_text().strip() if self._flower_auth.exists() else ""
        if not kept.partition(":")[2]:
            kept = f"afterturn:{secrets.token_urlsafe(24)}"
            write_private(self._flower_auth, kept)
        return kept

    def prepare(self) -> None:
        """Make the directories, and empty the temporary directory."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        for directory in (self.logs, self.temporary):
            directory.mkdir(mode=0o700, exist_ok=True)
        (self.path / ADDRESSES).unlink(missing_ok=True)
        self.remember()

    def announce(self, addresses: Mapping[str, Any]) -> None:
        """Publish the stack's addresses to other commands of the same user."""
        write_private(self.path / ADDRESSES, json.dumps(addresses))


def write_private(path: Path, text: str) -> None:
    """Write a file readable by its owner only, atomically."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def open_home(path: Path, *, owner_pid: int, keep: bool) -> Iterator[Home]:
    """Lock the directory against other stacks, and clean up after a dead stack.

    Args:
        path: The directory, resolved; made if missing.
        owner_pid: Process to stop, named to a refused second stack.
        keep: Leave the directory at the end.

    Raises:
        HomeInUseError: A live stack holds the directory.
    """
    # Searchable by all, so that PostgreSQL under its own account reaches its part; each part is private.
    path.mkdir(mode=0o711, parents=True, exist_ok=True)
    with held_lock(path / "lock", owner_pid):
        try:
            end_leftovers(path)
            home = Home(path, keep=keep)
            home.prepare()
            yield home
        finally:
            (path / ADDRESSES).unlink(missing_ok=True)
            shutil.rmtree(path / "tmp", ignore_errors=True)
            if not keep:
                # What a killed server leaves ends a moment later, and writes until then.
                end_leftovers(path)
                shutil.rmtree(path)


@contextmanager
def held_lock(path: Path, owner_pid: int) -> Iterator[None]:
    """Lock a file; the kernel frees the lock at the process's death, so no lock is ever stale.

    Args:
        path: The file, never removed, since unlinking a lock file lets two processes in.
        owner_pid: Written into the file for refused processes.

    Raises:
        HomeInUseError: Another live process holds the lock.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        deadline = time.monotonic() + TAKEOVER_S
        while not _locked(file.fileno()):
            holder = _pid_in(path)
            if _alive(holder) or time.monotonic() > deadline:
                raise HomeInUseError(path.parent, holder)
            time.sleep(0.1)
        file.truncate()
        file.write(f"{owner_pid}\n")
        file.flush()
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid_in(path: Path) -> int:
    with suppress(ValueError):
        return int(path.read_text())
    return 0


def _alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with suppress(OSError):  # where there is no /proc, whoever takes signals is alive
        return not is_zombie(PROC / str(pid))
    return True
