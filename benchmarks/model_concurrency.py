"""Measure how many model calls a process of a worker keeps in flight, and the memory and CPU of a job.

python -m benchmarks.model_concurrency [--latency-s 4] [--places 50] [--sessions 400] [--sessions-one 12]

A stack with a scripted provider in another process; one worker of one process, first with one piece at once,
then with many. The same sessions come due before the worker starts: all of its time is the worker's own.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import httpx
import psycopg
from rich.console import Console
from rich.table import Table

from afterturn.stack.compose import ROOT
from afterturn.stack.roles import SERVERS, StackRole, worker_command
from afterturn.stack.stack import Stack
from benchmarks.report import save
from benchmarks.soak import words
from benchmarks.soak.samples import descendants

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER)
TURNS = 4
PATIENCE_S = 1_800.0
SETTINGS = {
    "AFTERTURN_SUMMARIZE_MESSAGE_COUNT": "6",
    "AFTERTURN_SUMMARIZE_LEAST_SHARE": "0",
    "AFTERTURN_SUMMARIZE_LEAST_TOKENS": "0",
    "AFTERTURN_SUMMARIZE_KEEP_MESSAGES": "2",
    "AFTERTURN_SUMMARIZE_DEBOUNCE_S": "0",
    "SUMMARIZER_MODEL": "openai/scripted",
    "CONTEXT_PLANNER_MODEL": "openai/scripted",
    "AFTERTURN_LLM_API_KEY": "none",
}
_DONE = """
select count(*), extract(epoch from min(finished_at))::float8, extract(epoch from max(finished_at))::float8
from due_work where kind = 'summarize' and key like %s and finished_at is not null and state = 'idle'
"""
_OPEN = "select count(*) from llm_call where state = 'reserved' and session_id like %s"


@dataclass(frozen=True)
class Measured:
    """Result of a run.

    Attributes:
        places: Pieces of work at once, as set.
        jobs: Number of done pieces.
        in_flight: Most model calls open at once.
        jobs_per_s: Pieces a second, from the first to the last end.
        cpu_s_per_job: CPU seconds of the worker's processes for a job.
        rest_mb: Memory of the worker after the last job, its pages shared in parts, in MB.
        peak_mb: The same with the most calls in flight.
    """

    places: int
    jobs: int
    in_flight: int
    jobs_per_s: float
    cpu_s_per_job: float
    rest_mb: float
    peak_mb: float

    @property
    def jobs_per_s_per_gb(self) -> float:
        """Pieces a second for each GB at the peak."""
        return self.jobs_per_s / (self.peak_mb / 1024)

    @property
    def mb_per_call(self) -> float:
        """Memory of a call in flight, in MB."""
        return (self.peak_mb - self.rest_mb) / max(self.in_flight, 1)


def memory_mb(pid: int) -> float:
    """Sum the proportional memory of a process and its children, in MB."""
    total_kb = 0
    for one in descendants(pid):
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total_kb += int(line.split()[1])
        except OSError:
            continue
    return total_kb / 1024


def cpu_s(pid: int) -> float:
    """Sum the CPU seconds of a process and its children."""
    ticks = 0
    for one in descendants(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def provider(latency_s: float) -> Iterator[str]:
    """Run the scripted model in a process of its own, with a latency."""
    command = [sys.executable, "-m", "llm.scripted"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            if process.stdout is None:
                raise RuntimeError("the provider told no address")
            at = json.loads(process.stdout.readline())
            step = {"mode": "summary", "delay_s": latency_s}
            httpx.post(at["control_url"], json={"default": step}).raise_for_status()
            yield at["base_url"]
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def worker(stack: Stack, places: int) -> Iterator[int]:
    """Run a worker of one process for summaries; yield its process id."""
    env = {
        **os.environ,
        "AFTERTURN_DATABASE_URL": stack.at.database_url,
        "AFTERTURN_BROKER_URL": stack.at.broker_url,
        "AFTERTURN_PIECES_AT_ONCE": str(places),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    command = worker_command(("summaries",), concurrency=1)
    log = stack.at.directory / f"worker-{places}.log"
    with (
        log.open("wb") as said,
        subprocess.Popen(  # noqa: S603
            [sys.executable, *command[1:]], cwd=ROOT, env=env, stderr=said, stdout=said
        ) as process,
    ):
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)


def make_due(stack: Stack, prefix: str, sessions: int) -> None:
    """Post sessions with enough turns for a summary."""
    rng = Random(prefix)  # noqa: S311 (the same each time)
    key = {"Authorization": f"Bearer {stack.at.api_key}"}
    with httpx.Client(base_url=stack.at.base_url, headers=key, timeout=120) as client:
        for number in range(sessions):
            events = [
                {
                    "session_id": f"{prefix}{number}",
                    "turn_id": f"t{turn}",
                    "messages": [
                        {"role": "user", "content": words.paragraph(rng, 3)},
                        {"role": "assistant", "content": words.paragraph(rng, 6)},
                    ],
                }
                for turn in range(TURNS)
            ]
            client.post("/v1/turns", content="\n".join(map(json.dumps, events)).encode()).raise_for_status()


def measure(stack: Stack, *, places: int, sessions: int) -> Measured:
    """Let a worker do so many sessions."""
    prefix = f"at-{places}-"
    make_due(stack, prefix, sessions)
    most = 0
    peak_mb = spent_s = 0.0
    began_s: float | None = None
    deadline = time.monotonic() + PATIENCE_S
    with psycopg.connect(stack.at.database_url, autocommit=True) as database, worker(stack, places) as pid:
        done = 0
        while done < sessions:
            if time.monotonic() > deadline:
                sys.exit(f"{done} of {sessions} sessions are done after {PATIENCE_S:g} s")
            opened = _one(database, _OPEN, prefix)
            if opened and began_s is None:
                began_s = cpu_s(pid)
            if opened > most or opened >= places:
                most, peak_mb = max(most, opened), max(peak_mb, memory_mb(pid))
            spent_s = cpu_s(pid) - (began_s or 0.0)
            done = _one(database, _DONE, prefix)
            time.sleep(0.5)
        rest_mb = memory_mb(pid)
        row = database.execute(_DONE.encode(), (f"{prefix}%",)).fetchone()
    if row is None:
        raise RuntimeError("the database told nothing")
    return Measured(
        places, done, most, (done - 1) / max(row[2] - row[1], 1e-9), spent_s / done, rest_mb, peak_mb
    )


def _one(database: psycopg.Connection, query: str, prefix: str) -> int:
    row = database.execute(query.encode(), (f"{prefix}%",)).fetchone()
    return int(row[0]) if row else 0


def show(found: list[Measured]) -> None:
    """Print both side by side."""
    table = Table(title="one process of a worker before a slow model")
    for column in (
        "pieces at once",
        "jobs",
        "most in flight",
        "jobs/s",
        "CPU s a job",
        "MB",
        "MB a call",
        "jobs/s a GB",
    ):
        table.add_column(column, justify="right")
    for one in found:
        table.add_row(
            str(one.places),
            str(one.jobs),
            str(one.in_flight),
            f"{one.jobs_per_s:.2f}",
            f"{one.cpu_s_per_job:.2f}",
            f"{one.peak_mb:.0f}",
            f"{one.mb_per_call:.1f}",
            f"{one.jobs_per_s_per_gb:.1f}",
        )
    Console().print(table)
    if len(found) > 1:
        print(
            f"jobs a second for each GB: {found[1].jobs_per_s_per_gb / found[0].jobs_per_s_per_gb:.1f} times"
        )


def main() -> None:
    """Measure one piece at once, then many."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--latency-s", type=float, default=4.0, help="the provider's latency")
    parser.add_argument("--places", type=int, default=50, help="pieces at once in the second run")
    parser.add_argument("--sessions", type=int, default=400, help="sessions of the second run")
    parser.add_argument(
        "--sessions-one", type=int, default=12, help="sessions of the run with one piece at once"
    )
    asked = parser.parse_args()
    with provider(asked.latency_s) as base_url:
        os.environ.update(SETTINGS, AFTERTURN_LLM_API_BASE=base_url)
        with Stack(roles=ROLES) as stack:
            found = [
                measure(stack, places=1, sessions=asked.sessions_one),
                measure(stack, places=asked.places, sessions=asked.sessions),
            ]
    show(found)
    save("model_concurrency", [asdict(one) for one in found])


if __name__ == "__main__":
    main()
