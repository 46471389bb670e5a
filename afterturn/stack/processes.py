"""Processes of the stack: own group and bounded log; ordered start, restart after a crash, complete end."""

import json
import os
import pwd
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

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


FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 30.0
STABLE_AFTER_S = 60.0
STARTUP_CRASHES = 2
"""Crashes before readiness until a process is given up."""

LONGEST_PROBE_PAUSE_S = 0.25
PROBES_PER_START = 20
"""The longer a start, the longer the pause before the next probe: probes take cores from what starts."""

GRACE_S = 8.0
LAST_WARNING_S = 3.0

Event: TypeAlias = Mapping[str, Any]


class StartError(Exception):
    """A process did not start; the message has the end of its log."""


def _always() -> bool:
    return True


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Unit:
    """A process to keep running.

    Attributes:
        name: The process's role.
        launch: Makes the command, afresh for every start.
        ready: Tells whether the process serves now; must return within a second.
        after: Names of units to be ready before the start.
        once: True for a unit to succeed once, without being kept running.
        succeeded: Called after the success of a `once` unit.
        ready_within_s: Longest time to become ready, in seconds.
        stage: Units of the lowest stage stop first.
    """

    name: str
    launch: Callable[[], Launch]
    ready: Callable[[], bool] = _always
    after: Sequence[str] = ()
    once: bool = False
    succeeded: Callable[[], None] = _nothing
    ready_within_s: float = 300.0
    stage: int = 0


@dataclass
class _Watched:
    unit: Unit
    log: Path
    child: Child | None = None
    is_up: bool = False
    was_up: bool = False
    crashes: int = 0
    started_at: float = 0.0
    start_at: float = field(default=float("-inf"))
    probe_at: float = field(default=float("-inf"))


def delay_after(crashes: int) -> float:
    """Compute the delay before the next start, in seconds: doubling, bounded.

    Args:
        crashes: Number of consecutive crashes, >= 1.
    """
    return min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(crashes - 1, 16))


class Supervisor:
    """Drives every unit by `step`; never blocks for longer than a single readiness probe."""

    def __init__(self, units: Sequence[Unit], logs: Path, report: Callable[[Event], None]) -> None:
        """Watch `units`, with logs in the directory `logs`."""
        self._watched = {unit.name: _Watched(unit, logs / f"{unit.name}.log") for unit in units}
        self._report = report

    @property
    def is_ready(self) -> bool:
        """True if every unit is ready now."""
        return all(watched.is_up for watched in self._watched.values())

    @property
    def pids(self) -> dict[str, int]:
        """Pids of the running processes by name."""
        return {name: w.child.pid for name, w in self._watched.items() if w.child is not None}

    def step(self, now: float) -> None:
        """Start units and record readiness or ends.

        Args:
            now: Seconds on a monotonic clock.

        Raises:
            StartError: A unit keeps failing before its first readiness, or takes too long.
        """
        for watched in self._watched.values():
            if watched.child is not None:
                self._look_at(watched, watched.child, now)
            elif self._may_start(watched, now):
                self._start(watched, now)

    def limit_logs(self) -> None:
        """Keep every log within its size limit."""
        for watched in self._watched.values():
            limit_log(watched.log)

    def stop(self, *, wait: Callable[[], bool], clock: Callable[[], float]) -> None:
        """End every process, servers last.

        Args:
            wait: Sleeps for a moment; returns true if the end is urgent.
            clock: Seconds on a monotonic clock.
        """
        for stage in sorted({watched.unit.stage for watched in self._watched.values()}):
            children = [w.child for w in self._watched.values() if w.child and w.unit.stage == stage]
            _end(children, wait=wait, clock=clock)

    def _may_start(self, watched: _Watched, now: float) -> bool:
        finished = watched.unit.once and watched.is_up
        return (
            not finished
            and now >= watched.start_at
            and all(self._watched[name].is_up for name in watched.unit.after if name in self._watched)
        )

    def _start(self, watched: _Watched, now: float) -> None:
        watched.child = Child(watched.unit.launch(), watched.log)
        watched.started_at = now
        self._report({"event": "started", "role": watched.unit.name, "pid": watched.child.pid})

    def _look_at(self, watched: _Watched, child: Child, now: float) -> None:
        status = child.exit_status()
        if status is not None:
            watched.child, watched.is_up = None, False
            self._ended(watched, status, now)
        elif watched.is_up or watched.unit.once or now < watched.probe_at:
            return
        elif watched.unit.ready():
            watched.is_up = watched.was_up = True
            self._report(
                {"event": "up", "role": watched.unit.name, "after_s": round(now - watched.started_at, 3)}
            )
        elif now - watched.started_at > watched.unit.ready_within_s:
            raise _start_error(watched, f"was not ready after {watched.unit.ready_within_s:.0f} s")
        else:
            watched.probe_at = now + min(LONGEST_PROBE_PAUSE_S, (now - watched.started_at) / PROBES_PER_START)

    def _ended(self, watched: _Watched, status: int, now: float) -> None:
        if watched.unit.once and status == 0:
            watched.unit.succeeded()
            watched.is_up = watched.was_up = True
            self._report(
                {"event": "done", "role": watched.unit.name, "after_s": round(now - watched.started_at, 3)}
            )
            return
        if now - watched.started_at > STABLE_AFTER_S:
            watched.crashes = 0
        watched.crashes += 1
        if not watched.was_up and (watched.unit.once or watched.crashes >= STARTUP_CRASHES):
            raise _start_error(watched, f"ended with status {status}")
        delay_s = delay_after(watched.crashes)
        watched.start_at = now + delay_s
        self._report(
            {
                "event": "crashed",
                "role": watched.unit.name,
                "status": status,
                "again_in_s": delay_s,
                "log": str(watched.log),
            }
        )


def _start_error(watched: _Watched, what: str) -> StartError:
    said = tail(watched.log)
    return StartError(f"{watched.unit.name} {what}; its log {watched.log} ends with:\n{said}")


def _end(children: Sequence[Child], *, wait: Callable[[], bool], clock: Callable[[], float]) -> None:
    """Stop in three steps, by stop signal, last warning and kill; faster if urgent."""
    for child in children:
        child.ask_to_stop()
    begun, warned = clock(), False
    while remaining := [child for child in children if child.exit_status() is None]:
        urgent = wait()
        waited = clock() - begun
        if not warned and (urgent or waited > GRACE_S):
            begun, warned = clock(), True
            for child in remaining:
                child.kill()
        elif warned and waited > LAST_WARNING_S:
            for child in remaining:
                child.kill_group()
