"""A small real run beside its simulation: the same arrivals, the same model, both measured the same way."""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from statistics import mean
from typing import Any

import psycopg

from afterturn.stack.stack import Stack
from benchmarks.scaling.queueing import Ask, Done, Queue, Rules
from benchmarks.soak import words
from benchmarks.soak.call import Book, Caller
from benchmarks.soak.model import SIGMA
from benchmarks.soak.verdict import percentiles

TURNS = 32
"""Of a session in one delivery: enough messages to call for a summary."""

BY_NUMBER = {"AFTERTURN_SUMMARIZE_LEAST_SHARE": "0", "AFTERTURN_SUMMARIZE_LEAST_TOKENS": "0"}
"""Settings with which so many messages make a summary due, though they fill little of a window."""

WORKERS = 2
SEEDS = 20
SETTLES_WITHIN_S = 240.0

_WORK = """
    select extract(epoch from created_at)::float8, extract(epoch from finished_at)::float8 from due_work
    where kind = 'summarize' and key like %s and finished_at is not null order by created_at
"""
_OPEN = "select count(*) from due_work where key like %s and state in ('ready', 'running')"
_MODEL_S = "select coalesce(sum(latency_ms), 0)::float8 / 1000 from llm_call where session_id like %s"
_CALLS = "select count(*)::float8 from llm_call where session_id like %s"


@dataclass(frozen=True)
class Observed:
    """One run, real or simulated.

    Attributes:
        jobs_per_s: Pieces of work done a second, until the last one was done.
        sojourn_p50_s: From the turn to its summary: half of all.
        sojourn_p95_s: Nineteen of twenty.
        most_waiting: The most pieces of work that were not done at once.
    """

    jobs_per_s: float
    sojourn_p50_s: float
    sojourn_p95_s: float
    most_waiting: float


@dataclass(frozen=True)
class Trial:
    """Both, at one load."""

    load: float
    arrivals: int
    calls_per_job: float
    measured: Observed
    simulated: Observed

    def to_json(self) -> dict[str, Any]:
        """For the results."""
        return asdict(self)


def calibrate(stack: Stack, *, sessions: int = 12, apart_s: float = 2.5) -> float:
    """What a piece takes a worker beside the model's time, where nothing waits. In seconds."""
    rng = Random("calibration")  # noqa: S311 (the same each time)
    _deliver(stack, "calm-", [number * apart_s for number in range(sessions)], rng)
    with psycopg.connect(stack.at.database_url, autocommit=True) as database:
        _settle(database, "calm-")
        rows: list[tuple[float, float]] = database.execute(_WORK.encode(), ("calm-%",)).fetchall()
        row = database.execute(_MODEL_S.encode(), ("calm-%",)).fetchone()
    took_s = mean(ended - asked for asked, ended in rows) - Rules(1).debounce_s - Rules(1).poll_s / 2
    model_s = float(row[0]) if row else 0.0
    return max(took_s - model_s / len(rows), 0.02)


def try_load(stack: Stack, load: float, *, own_s: float, model_median_s: float, seconds: float) -> Trial:
    """Load two workers so much, by sessions that come at random, and simulate the same.

    Args:
        stack: A whole stack before a scripted model.
        load: The share of the workers' time that the arrivals ask for.
        own_s: What a piece takes a worker, the model left out.
        model_median_s: The model's median latency.
        seconds: For how long sessions come.
    """
    mean_s = own_s + model_median_s * _mean_factor()
    rng = Random(f"trial {load}")  # noqa: S311 (the same each time)
    times = _times(rng, load * WORKERS / mean_s, seconds)
    prefix = f"trial-{load:g}-"
    began = _deliver(stack, prefix, times, rng)
    with psycopg.connect(stack.at.database_url, autocommit=True) as database:
        _settle(database, prefix)
        rows = database.execute(_WORK.encode(), (f"{prefix}%",)).fetchall()
        row = database.execute(_CALLS.encode(), (f"{prefix}%",)).fetchone()
    calls = (row[0] if row else 0.0) / max(len(rows), 1)
    asks = [Ask(asked - began, number) for number, (asked, _) in enumerate(rows)]
    measured = _observed([asked - began for asked, _ in rows], [ended - began for _, ended in rows])

    def service_s(chance: Random) -> float:
        whole = int(calls) + (chance.random() < calls % 1)
        return own_s + sum(model_median_s * chance.lognormvariate(0, SIGMA) for _ in range(whole))

    runs = [_simulate(asks, service_s, seed) for seed in range(SEEDS)]
    simulated = Observed(**{name: mean(asdict(run)[name] for run in runs) for name in asdict(runs[0])})
    return Trial(load, len(rows), calls, measured, simulated)


def _mean_factor() -> float:
    """The mean of a lognormal over its median."""
    return math.exp(SIGMA**2 / 2)


def _times(rng: Random, rate: float, seconds: float) -> list[float]:
    times, at = list[float](), rng.expovariate(rate)
    while at < seconds:
        times.append(at)
        at += rng.expovariate(rate)
    return times


def _deliver(stack: Stack, prefix: str, times: Sequence[float], rng: Random) -> float:
    """Send each session at its time. Returns when that began, in seconds since 1970."""
    book = Book()
    began, wall = time.monotonic(), time.time()
    caller = Caller(stack.at.base_url, stack.at.api_key, book, began)
    deliveries = [_session(f"{prefix}{number}", rng) for number in range(len(times))]
    began, wall = time.monotonic(), time.time()
    for at, delivery in zip(times, deliveries, strict=True):
        time.sleep(max(began + at - time.monotonic(), 0))
        caller.send("batch", "POST", "/v1/turns", delivery)
    if book.faults:
        raise RuntimeError(book.faults[0])
    return wall


def _session(session_id: str, rng: Random) -> bytes:
    events = (
        {
            "session_id": session_id,
            "turn_id": f"t{number}",
            "model": "gpt-4o",
            "context_window": 32_000,
            "messages": [
                {"role": "user", "content": words.paragraph(rng, 2)},
                {"role": "assistant", "content": words.paragraph(rng, 4)},
            ],
        }
        for number in range(TURNS)
    )
    return "\n".join(map(json.dumps, events)).encode()


def _settle(database: psycopg.Connection, prefix: str) -> None:
    deadline = time.monotonic() + SETTLES_WITHIN_S
    while (row := database.execute(_OPEN.encode(), (f"{prefix}%",)).fetchone()) and row[0]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{row[0]} pieces of work are not done after {SETTLES_WITHIN_S:.0f} s")
        time.sleep(0.2)


def _simulate(asks: Sequence[Ask], service_s: Any, seed: int) -> Observed:
    done: Done = Queue(Rules(WORKERS), service_s, seed).run(asks)
    begins = [end - sojourn for end, sojourn in zip(done.ends_s, done.sojourns_s, strict=True)]
    return _observed(begins, done.ends_s)


def _observed(begins: Sequence[float], ends: Sequence[float]) -> Observed:
    sojourns = percentiles([end - begin for begin, end in zip(begins, ends, strict=True)])
    events = sorted([(at, 1) for at in begins] + [(at, -1) for at in ends])
    waiting = most = 0
    for _, change in events:
        waiting += change
        most = max(most, waiting)
    return Observed(
        jobs_per_s=len(ends) / max(max(ends, default=1.0) - min(begins, default=0.0), 1e-9),
        sojourn_p50_s=sojourns.p50,
        sojourn_p95_s=sojourns.p95,
        most_waiting=float(most),
    )
