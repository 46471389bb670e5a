"""Measure how fast a backlog is done, with and without thousands of stale messages in the broker.

python -m benchmarks.backlog [--pieces 5000] [--stale 20000] [--rounds 2] [--busy 2] [--at-least 0.9]

One worker of two processes does pieces that take no time of their own, so that all of it is the queue's.
Other processes keep the cores busy meanwhile. Each round measures three things, one after another: no stale
message; stale ones; stale ones while no dispatcher is there to empty the queue. It fails where the second or
the third is slower than it may be. Every second round goes backwards. On a machine that others use, the
processor time of all parts per piece says more than the speed.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import redis
from celery import Celery
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.report import save
from tests.acceptance.platform import children_of

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER)
QUICK = {"SUMMARIZER_MODEL": "extractive", "CONTEXT_PLANNER_MODEL": "extractive"}
QUEUE, OLD_NAME = "maintenance", "maintenance.index_recall"
PATIENCE_S = 1_200.0

_FILL = """
insert into due_work (tenant_id, kind, key, state, due_at)
select tenant_id, 'recall', %s || '-' || n, 'ready', now() from tenant, generate_series(1, %s) as n
where name = 'default'
"""
_LEFT = "select count(*) from due_work where key like %s || '-%%' and state <> 'idle'"


@contextmanager
def busy_cores(processes: int) -> Iterator[None]:
    """Keep so many cores busy."""
    with ExitStack() as burning:
        for _ in range(processes):
            one = burning.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            burning.callback(one.kill)
        yield


@contextmanager
def stopped(pid: int, *, really: bool) -> Iterator[None]:
    """Let a process stand still meanwhile."""
    if really:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if really:
            os.kill(pid, signal.SIGCONT)


def leave_stale(broker_url: str, number: int) -> None:
    """Leave messages of older code in the queue, each of them for a row that is not due."""
    with Celery("stale", broker=broker_url, set_as_current=False) as celery:
        celery.send_task(OLD_NAME, args=[1], queue="stale", ignore_result=True)
    with redis.Redis.from_url(broker_url) as broker, broker.pipeline(transaction=False) as pipe:
        message = broker.lpop("stale")
        for _ in range(number):
            pipe.rpush(QUEUE, str(message.decode()) if isinstance(message, bytes) else "")
        pipe.execute()


@dataclass(frozen=True)
class Speed:
    """How fast a backlog was done, and what it took of all processes of the stack."""

    pieces_per_s: float
    cpu_ms: float


def cpu_s(pid: int) -> float:
    """Return the processor time of a process with its children, ended ones too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK") + sum(map(cpu_s, children_of(pid)))


def measure_case(stack: Stack, name: str, pieces: int, *, stale: int, dispatcher: bool) -> Speed:
    """Make work due behind stale messages, and say how fast it is done."""
    stack.poll()
    pids = [stack.at.pids[role] for role in ROLES if role in stack.at.pids]
    with (
        psycopg.connect(stack.at.database_url, autocommit=True) as database,
        stopped(stack.at.pids[StackRole.DISPATCHER], really=not dispatcher),
    ):
        if stale:
            leave_stale(stack.at.broker_url, stale)
        began, before_s = time.monotonic(), sum(map(cpu_s, pids))
        database.execute(_FILL, (name, pieces))
        while (row := database.execute(_LEFT, (name,)).fetchone()) and row[0]:
            if time.monotonic() - began > PATIENCE_S:
                sys.exit(f"{name}: {row[0]} of {pieces} pieces are not done after {PATIENCE_S:g} s")
            time.sleep(0.1)
        spent_ms = (sum(map(cpu_s, pids)) - before_s) * 1000
        return Speed(pieces / (time.monotonic() - began), spent_ms / pieces)


CASES = {
    "no stale message": (False, True),
    "stale messages": (True, True),
    "stale messages, no dispatcher": (True, False),
}


def measure(*, pieces: int, stale: int, rounds: int, busy: int) -> dict[str, list[Speed]]:
    """Measure each case, round after round, in one run of one stack."""
    os.environ.update(QUICK)
    found: dict[str, list[Speed]] = {case: [] for case in CASES}
    with Stack(roles=ROLES) as stack:
        measure_case(stack, "warm", min(pieces, 200), stale=0, dispatcher=True)
        with busy_cores(busy):
            for number in range(rounds):
                ordered = list(CASES.items())[:: -1 if number % 2 else 1]
                for place, (case, (is_stale, dispatcher)) in enumerate(ordered):
                    name = f"round-{number}-{place}"
                    left = stale if is_stale else 0
                    speed = measure_case(stack, name, pieces, stale=left, dispatcher=dispatcher)
                    found[case].append(speed)
                    print(
                        f"{name}: {case}: {speed.pieces_per_s:.0f} a second, {speed.cpu_ms:.1f} ms",
                        flush=True,
                    )
    return found


def main() -> None:
    """Print the table, keep it as JSON, and fail where stale messages cost too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pieces", type=int, default=5_000)
    parser.add_argument("--stale", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--busy", type=int, default=2, help="processes that keep cores busy")
    parser.add_argument("--at-least", type=float, default=0.9, help="the least share of the speed without")
    options = parser.parse_args()
    found = measure(pieces=options.pieces, stale=options.stale, rounds=options.rounds, busy=options.busy)
    without = median(speed.pieces_per_s for speed in found["no stale message"])
    title = f"{options.pieces:,} due, {options.stale:,} stale"
    table = Table("case", "pieces a second", "share", "CPU ms a piece", title=title)
    rows: list[dict[str, Any]] = []
    for case, speeds in found.items():
        fast = median(speed.pieces_per_s for speed in speeds)
        cpu_ms = median(speed.cpu_ms for speed in speeds)
        table.add_row(case, f"{fast:.0f}", f"{fast / without:.2f}", f"{cpu_ms:.1f}")
        rows.append({"case": case, "speeds": list(map(asdict, speeds)), "share": fast / without})
    Console().print(table)
    save("backlog", {"options": vars(options), "cases": rows})
    if min(row["share"] for row in rows) < options.at_least:
        sys.exit(f"stale messages cost more than {1 - options.at_least:.0%} of the speed")


if __name__ == "__main__":
    main()
