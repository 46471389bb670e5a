"""One process of the stack: its own group, a bounded log, no children that survive it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from afterturn.stack.accounts import Account

LAUNCHER = Path(__file__).with_name("launch.py")
LOG_LIMIT_BYTES = 5_000_000
TAIL_LINES = 20


@dataclass(frozen=True)
class Launch:
    """What to run and how.

    Attributes:
        command: The program, by its path, and its arguments.
        environment: The whole environment.
        directory: Where it works.
        account: The account to run as; None for this process's own.
        stop_signal: Asks it to finish in order.
        death_signal: What it gets from the kernel if its keeper dies.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL

    def launcher_command(self) -> list[str]:
        """The command line of the launcher that turns into this command."""
        options = {
            "parent_pid": os.getpid(),
            "death_signal": int(self.death_signal),
            "uid": self.account.uid if self.account else None,
            "gid": self.account.gid if self.account else None,
            "search": bool(self.account and self.account.search),
        }
        return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(options), *self.command]


class Child:
    """A running process and all of its group."""

    def __init__(self, launch: Launch, log: Path) -> None:
        """Start it; what it prints is appended to `log`."""
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
        """None while it runs; else its status, negative for a signal, and its group is dead."""
        if self._process.returncode is None and _has_ended(self.pid):
            # Before the pid is free for somebody else: pool processes outlive a killed parent.
            self.kill_group()
            self._process.wait()
        return self._process.returncode

    def ask_to_stop(self) -> None:
        """Send the polite signal to the leader, which tells its own children."""
        self._send(self._launch.stop_signal)

    def kill(self) -> None:
        """End it in the hardest way that leaves nothing behind."""
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
    """Whether it ended, without freeing its pid."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def limit_log(log: Path, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
    """Move a log that has grown too long aside, in place of the one moved before.

    The file is emptied, never renamed: its writer appends to the open file and goes on at its start.

    Args:
        log: The file; it need not exist.
        limit_bytes: The size from which it is moved.
    """
    if not log.exists() or log.stat().st_size < limit_bytes:
        return
    with log.open("r+b") as file:
        file.seek(-limit_bytes // 2, os.SEEK_END)
        log.with_suffix(".old.log").write_bytes(file.read())
        file.truncate(0)


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, for a person to read."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
