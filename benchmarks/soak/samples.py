"""What is looked at every few seconds: memory of each process, queues, connections, the database."""

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg
import redis

from afterturn.stack.stack import Stack, StackError
from models.due_work.kinds import WorkQueue

MB = 1_048_576

_WORK = """
    select count(*) filter (where state = 'ready' and due_at <= now()),
        count(*) filter (where state = 'ready' and due_at > now()),
        count(*) filter (where state = 'running'), count(*) filter (where state = 'dead'),
        coalesce(extract(epoch from
            now() - min(due_at) filter (where state = 'ready' and due_at <= now())), 0)
    from due_work where state in ('ready', 'running', 'dead')
"""
_SERVER = "select count(*) from pg_stat_activity where backend_type = 'client backend'"


@dataclass(frozen=True)
class Watched:
    """What is looked at: a stack, and the pid of the workers beside it, if there are any."""

    stack: Stack
    more_workers: int | None = None

    def pids(self) -> dict[str, int]:
        """The processes by their roles as they are now."""
        self.stack.poll()
        return {**self.stack.at.pids, **({"more workers": self.more_workers} if self.more_workers else {})}


@dataclass(frozen=True)
class Sample:
    """One look.

    Attributes:
        at_s: When, on the clock of the run.
        memory_mb: Memory that belongs to each role alone: all of its processes, files and sharing left out.
        processes: How many processes each role has.
        due: Work that is due and that nobody has.
        later: Work that will be due.
        running: Work that somebody does.
        dead: Work that was given up.
        age_s: For how long the oldest has been due.
        connections: Open connections to PostgreSQL.
        database_mb: Size of the database.
        bells: Messages in the broker.
        broker_mb: Memory that the broker uses for its data.
    """

    at_s: float
    memory_mb: dict[str, float]
    processes: dict[str, int]
    due: int
    later: int
    running: int
    dead: int
    age_s: float
    connections: int
    database_mb: float
    bells: int
    broker_mb: float


def descendants(pid: int) -> list[int]:
    """A process and all below it that still live."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in descendants(int(child)))]


def own_mb(pid: int) -> float:
    """The anonymous memory of a process, shared pages in proportion; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0.0
    sizes = dict(line.split(":", 1) for line in lines)
    return int(sizes.get("Pss_Anon", sizes.get("Private_Dirty", "0 kB")).split()[0]) / 1024


def take_sample(watched: Watched, began: float, database: psycopg.Connection, broker: redis.Redis) -> Sample:
    """Look at everything once."""
    trees = {role: descendants(pid) for role, pid in watched.pids().items()}
    due, later, running, dead, age_s = _row(database, _WORK)
    info: Any = broker.info("memory")
    return Sample(
        at_s=time.monotonic() - began,
        memory_mb={role: sum(map(own_mb, tree)) for role, tree in trees.items()},
        processes={role: len(tree) for role, tree in trees.items()},
        due=due,
        later=later,
        running=running,
        dead=dead,
        age_s=float(age_s),
        connections=_row(database, _SERVER)[0],
        database_mb=_row(database, "select pg_database_size(current_database())")[0] / MB,
        bells=sum(int(broker.llen(queue.value)) for queue in WorkQueue),
        broker_mb=info["used_memory"] / MB,
    )


def _row(database: psycopg.Connection, query: str) -> tuple[Any, ...]:
    row = database.execute(query.encode()).fetchone()
    return row or ()


@dataclass
class Sampler:
    """Looks every so many seconds from a thread of its own.

    Attributes:
        watched: What is looked at.
        began: The start of the run, of `time.monotonic`.
        every_s: How often.
        samples: What was seen.
        trouble: Why it could not look, where it could not.
    """

    watched: Watched
    began: float
    every_s: float
    samples: list[Sample] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="sampler")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        with (
            psycopg.connect(self.watched.stack.at.database_url, autocommit=True) as database,
            redis.Redis.from_url(self.watched.stack.at.broker_url) as broker,
        ):
            while True:
                try:
                    self.samples.append(take_sample(self.watched, self.began, database, broker))
                except (psycopg.Error, redis.RedisError, StackError, OSError) as error:
                    self.trouble.append(f"{type(error).__name__}: {error}")
                    return
                if self._stop.wait(self.every_s):
                    return


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))
