"""A process of the stack: its account, its own group, a bounded log, no surviving children."""

import json
import os
import pwd
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ORDINARY_ACCOUNTS = ("postgres", "nobody")
"""Accounts present on most machines, best first. Accounts are never created."""


@dataclass(frozen=True)
class OrdinaryAccount:
    """An ordinary account for PostgreSQL; `search` for directories closed to the account."""

    uid: int
    gid: int
    search: bool


def open_to_all(path: Path) -> bool:
    """Tell whether every account can pass through the directories above `path`."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.absolute().parents)


def account_for_postgres(data: Path, program: Path) -> OrdinaryAccount | None:
    """Choose the account for PostgreSQL.

    Args:
        data: The data directory; an existing directory keeps its owner.
        program: The server's program.

    Returns:
        The account, or None without root, for the process's own account.

    Raises:
        LookupError: Root finds no ordinary account on the machine.
    """
    if os.geteuid() != 0:
        return None
    uid, gid = _owner(data) or _ordinary()
    return OrdinaryAccount(uid, gid, search=not (open_to_all(data) and open_to_all(program)))


def _owner(data: Path) -> tuple[int, int] | None:
    if not data.exists() or data.stat().st_uid == 0:
        return None
    return data.stat().st_uid, data.stat().st_gid


def _ordinary() -> tuple[int, int]:
    for name in ORDINARY_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    known = ", ".join(ORDINARY_ACCOUNTS)
    raise LookupError(f"PostgreSQL can't run as root and this machine has none of the accounts {known}")


LAUNCHER = Path(__file__).with_name("launch.py")
LOG_LIMIT_BYTES = 5_000_000
TAIL_LINES = 20


@dataclass(frozen=True)
class Launch:
    """Command with its environment and account.

    Attributes:
        command: The program, by its path, and its arguments.
        environment: The whole environment.
        directory: The working directory.
        account: The account to run as; None for the process's own.
        stop_signal: Signal for an orderly end.
        death_signal: Signal from the kernel at the keeper's death.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    account: OrdinaryAccount | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL

    def launcher_command(self) -> list[str]:
        """Command line of the launcher for the command."""
        options = {
            "parent_pid": os.getpid(),
            "death_signal": int(self.death_signal),
            "uid": self.account.uid if self.account else None,
            "gid": self.account.gid if self.account else None,
            "search": bool(self.account and self.account.search),
        }
        return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(options), *self.command]


class Child:
    """A running process with its group."""

    def __init__(self, launch: Launch, log: Path) -> None:
        """Start the process; its output is appended to `log`."""
        self._launch = launch
        limit_log(log)
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                launch.launcher_command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(launch.environment),
                cwd=launch.directory,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def exit_status(self) -> int | None:
        """Exit status: negative for a signal, with the group dead; None while running."""
        if self._process.returncode is None and _has_ended(self.pid):
            # Before the pid is free for somebody else: pool processes outlive a killed parent.
            self.kill_group()
            self._process.wait()
        return self._process.returncode

    def ask_to_stop(self) -> None:
        """Send the stop signal to the leader, to pass on to its children."""
        self._send(self._launch.stop_signal)

    def kill(self) -> None:
        """Send the hardest signal without leftovers."""
        self._send(self._launch.death_signal)
        if self._launch.death_signal == signal.SIGKILL:
            self.kill_group()

    def kill_group(self) -> None:
        """End the whole group at once."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def _has_ended(pid: int) -> bool:
    """Tell whether a process ended, without freeing its pid."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def limit_log(log: Path, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
    """Move a too long log aside, replacing the log moved before.

    The file is emptied, never renamed: its writer keeps appending to the open file, from the start.

    Args:
        log: The file; may be missing.
        limit_bytes: Least size for moving.
    """
    if not log.exists() or log.stat().st_size < limit_bytes:
        return
    with log.open("r+b") as file:
        file.seek(-limit_bytes // 2, os.SEEK_END)
        log.with_suffix(".old.log").write_bytes(file.read())
        file.truncate(0)


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """Return the last lines of a log, for people."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
