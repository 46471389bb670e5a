"""CPU time to the nanosecond of a set of processes, and bytes of the write-ahead log, between two moments."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from benchmarks.soak.samples import descendants
from benchmarks.soak.verdict import percentiles

_LSN = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


def cpu_ns(pid: int) -> dict[str, int]:
    """The time that each thread of a process and of its children has run."""
    found = {}
    for one in descendants(pid):
        for task in Path(f"/proc/{one}/task").glob("*/schedstat"):
            try:
                found[str(task)] = int(task.read_text().split()[0])
            except OSError:
                continue
    return found


def since(before: dict[str, int], after: dict[str, int]) -> int:
    """Nanoseconds that were run between two looks; threads that ended meanwhile are left out."""
    return sum(ran - before.get(task, 0) for task, ran in after.items())


@dataclass
class Step:
    """What one kind of step took, over all times it was done.

    Attributes:
        wall_ms: Each time's milliseconds.
        process_ns: CPU of the API or of the worker, all together.
        postgres_ns: CPU of PostgreSQL.
        wal_bytes: What was written to the write-ahead log.
    """

    wall_ms: list[float] = field(default_factory=list)
    process_ns: int = 0
    postgres_ns: int = 0
    wal_bytes: int = 0

    def cost(self) -> "Cost":
        """The mean of one."""
        count = max(len(self.wall_ms), 1)
        found = percentiles(self.wall_ms)
        return Cost(
            count=len(self.wall_ms),
            wall_p50_ms=found.p50,
            wall_p95_ms=found.p95,
            wall_mean_ms=sum(self.wall_ms) / count,
            process_cpu_ms=self.process_ns / count / 1e6,
            postgres_cpu_ms=self.postgres_ns / count / 1e6,
            wal_kb=self.wal_bytes / count / 1024,
        )


@dataclass(frozen=True)
class Cost:
    """What one step takes: as it is seen from outside, and of which processor."""

    count: int
    wall_p50_ms: float
    wall_p95_ms: float
    wall_mean_ms: float
    process_cpu_ms: float
    postgres_cpu_ms: float
    wal_kb: float

    def to_json(self) -> dict[str, Any]:
        """For the results."""
        return asdict(self)


class Meter:
    """Measures steps by name."""

    def __init__(self, database: psycopg.Connection, postgres_pid: int) -> None:
        """Measure PostgreSQL beside whatever does a step.

        Args:
            database: A connection of its own, in autocommit.
            postgres_pid: The server.
        """
        self._database, self._postgres = database, postgres_pid
        self.steps: dict[str, Step] = defaultdict(Step)

    @contextmanager
    def measure(self, name: str, pid: int | None = None) -> Iterator[None]:
        """Measure what is done inside.

        Args:
            name: The step.
            pid: The process that does it; None for this one.
        """
        wal, postgres = self._wal(), cpu_ns(self._postgres)
        process = cpu_ns(pid) if pid else {}
        own, began = time.process_time_ns(), time.perf_counter()
        yield
        wall_ms = (time.perf_counter() - began) * 1000
        own = time.process_time_ns() - own
        step = self.steps[name]
        step.wall_ms.append(wall_ms)
        step.process_ns += since(process, cpu_ns(pid)) if pid else own
        step.postgres_ns += since(postgres, cpu_ns(self._postgres))
        step.wal_bytes += self._wal() - wal

    def costs(self) -> dict[str, Cost]:
        """What each step takes."""
        return {name: step.cost() for name, step in self.steps.items()}

    def _wal(self) -> int:
        row = self._database.execute(_LSN.encode()).fetchone()
        return int(row[0]) if row else 0


def median_ms(times: int, once: Any) -> float:
    """The median of so many calls, in milliseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        once()
        taken.append((time.perf_counter() - began) * 1000)
    return median(taken)
