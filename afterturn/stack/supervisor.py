"""Keep a set of processes running: in their order at the start, again after a crash, none at the end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from afterturn.stack.processes import Child, Launch, limit_log, tail

FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 30.0
STABLE_AFTER_S = 60.0
STARTUP_CRASHES = 2
"""A process that ends this often before it was ever ready won't get better by itself."""

GRACE_S = 8.0
LAST_WARNING_S = 3.0

Event: TypeAlias = Mapping[str, Any]


class StartError(Exception):
    """A process did not come up; the message holds the end of its log."""


def _always() -> bool:
    return True


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Unit:
    """One process to keep running.

    Attributes:
        name: Its role.
        launch: Makes what to run, afresh for every start.
        ready: Whether it serves now; must answer within a second.
        after: Names of the units that must be ready before it starts.
        once: It has to succeed once, and is not kept running.
        succeeded: Called when a `once` unit succeeded.
        ready_within_s: How long it may take to become ready.
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
    """How long to wait before the next start, in seconds: doubling, bounded.

    Args:
        crashes: How often it has crashed in a row, >= 1.
    """
    return min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** min(crashes - 1, 16))


class Supervisor:
    """Drives every unit by `step`; never blocks for longer than one readiness probe."""

    def __init__(self, units: Sequence[Unit], logs: Path, report: Callable[[Event], None]) -> None:
        """Watch `units`, whose logs go to the directory `logs`."""
        self._watched = {unit.name: _Watched(unit, logs / f"{unit.name}.log") for unit in units}
        self._report = report

    @property
    def is_ready(self) -> bool:
        """Whether every unit is ready now."""
        return all(watched.is_up for watched in self._watched.values())

    @property
    def pids(self) -> dict[str, int]:
        """The running processes by name."""
        return {name: w.child.pid for name, w in self._watched.items() if w.child is not None}

    def step(self, now: float) -> None:
        """Start what may start, notice what became ready or ended.

        Args:
            now: Seconds on a clock that never goes back.

        Raises:
            StartError: A unit keeps failing before it was ever ready, or takes too long.
        """
        for watched in self._watched.values():
            if watched.child is not None:
                self._look_at(watched, watched.child, now)
            elif self._may_start(watched, now):
                self._start(watched, now)

    def limit_logs(self) -> None:
        """Keep every log within its bounds."""
        for watched in self._watched.values():
            limit_log(watched.log)

    def stop(self, *, wait: Callable[[], bool], clock: Callable[[], float]) -> None:
        """End every process, servers last.

        Args:
            wait: Sleeps for a moment; true when there is no time for politeness any more.
            clock: Seconds on a clock that never goes back.
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
    """Ask, warn for the last time, and kill: each later than the one before unless it is urgent."""
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
