"""Supervision of processes: ordered start, restart after a crash, complete end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from afterturn.stack.processes import Child, Launch, limit_log, tail

FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 30.0
STABLE_AFTER_S = 60.0
STARTUP_CRASHES = 2
"""Crashes before readiness until a process is given up."""

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
        elif watched.is_up or watched.unit.once:
            return
        elif watched.unit.ready():
            watched.is_up = watched.was_up = True
            self._report(
                {"event": "up", "role": watched.unit.name, "after_s": round(now - watched.started_at, 3)}
            )
        elif now - watched.started_at > watched.unit.ready_within_s:
            raise _start_error(watched, f"was not ready after {watched.unit.ready_within_s:.0f} s")

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
