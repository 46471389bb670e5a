"""The highest rate that the stack keeps up with: the queue's age stays flat, and calls are not late."""

import time

import psycopg

from afterturn.stack.stack import Stack
from benchmarks.soak.arrivals import Pace
from benchmarks.soak.call import Book
from benchmarks.soak.slope import robust_slope
from benchmarks.soak.verdict import percentiles

STEP_S = 20.0
GROWTH = 1.4
CLOSE = 1.1
"""The search ends when the rate that holds and the one that does not are so close."""

MOST_AGE_SLOPE = 0.1
"""Seconds of age a second: above this, work comes faster than it is done."""

MOST_AGE_S = 3.0
MOST_LATE_MS = 1_000.0
MOST_STEPS = 12

_AGE = """
    select coalesce(extract(epoch from now() - min(due_at)), 0) from due_work
    where state = 'ready' and due_at <= now() and kind not in ('sweep', 'learn')
"""


def highest_flat_rate(stack: Stack, pace: Pace, book: Book, start: float) -> float:
    """Raise the rate until the queue or the callers fall behind, then close in.

    Args:
        stack: What is loaded.
        pace: The clients' pace; left at the rate of the start.
        book: Where calls are written.
        start: A rate that holds, steps a second.

    Returns:
        The highest rate that held for a step, steps a second; 0 where not even the first did.
    """
    good, bad, rate = 0.0, 0.0, start
    with psycopg.connect(stack.at.database_url, autocommit=True) as database:
        for _ in range(MOST_STEPS):
            pace.rate = rate
            if _holds(database, book):
                good = rate
            else:
                bad = rate
                pace.rate = start / 4
                _drain(database)
            if bad and bad < max(good, start / 8) * CLOSE:
                break
            rate = good * GROWTH if not bad else ((good or bad / 4) * bad) ** 0.5
    pace.rate = start / 4
    return good


def _holds(database: psycopg.Connection, book: Book) -> bool:
    """Watch one step: its first third is left for what went before."""
    began, times, ages = time.monotonic(), list[float](), list[float]()
    seen = len(book.calls)
    while (at := time.monotonic() - began) < STEP_S:
        if at > STEP_S / 3:
            times.append(at)
            ages.append(_age(database))
        else:
            seen = len(book.calls)
        time.sleep(0.5)
    late = percentiles([one.late_ms + one.took_ms for one in book.calls[seen:]])
    slope = robust_slope(times, ages)
    holds = slope.low < MOST_AGE_SLOPE and ages[-1] < MOST_AGE_S and late.p95 < MOST_LATE_MS
    per_s = late.count / (STEP_S * 2 / 3)
    print(
        f"search: {per_s:5.1f} calls/s, oldest due {ages[-1]:4.1f} s, changing by {slope.estimate:+.2f} s/s, "
        f"calls p95 {late.p95:.0f} ms: {'holds' if holds else 'too much'}",
        flush=True,
    )
    return holds


def _drain(database: psycopg.Connection, *, within_s: float = 120.0) -> None:
    began = time.monotonic()
    while _age(database) > 0.5 and time.monotonic() - began < within_s:
        time.sleep(0.5)


def _age(database: psycopg.Connection) -> float:
    row = database.execute(_AGE.encode()).fetchone()
    return float(row[0]) if row else 0.0
