"""The stack's directory: locking, remembered facts, removal, and the processes of a dead keeper."""

import fcntl
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
