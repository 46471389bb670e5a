"""The tables of what was measured, tried and worked out."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.scaling.backlog import QueueCost
from benchmarks.scaling.capacity import Habits, Need
from benchmarks.scaling.check import Check
from benchmarks.scaling.steps import Life
from benchmarks.scaling.trial import Trial

_CONSOLE = Console(width=132)


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(first, title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def show_life(life: Life) -> None:
    """What each step of a turn's life takes, and what is kept of it."""
    columns = (
        "times",
        "p50 ms",
        "p95 ms",
        "its CPU ms",
        "PostgreSQL CPU ms",
        "WAL KB",
        "a turn",
        "model calls",
    )
    table = _table("A step; jobs without the time of models", "step", *columns)
    for name, cost in life.costs.items():
        kind = name.removeprefix("job ")
        table.add_row(
            name,
            str(cost.count),
            *(f"{value:.1f}" for value in (cost.wall_p50_ms, cost.wall_p95_ms)),
            *(f"{value:.2f}" for value in (cost.process_cpu_ms, cost.postgres_cpu_ms)),
            f"{cost.wal_kb:.1f}",
            f"{life.jobs_per_turn[kind]:.2f}" if kind in life.jobs_per_turn else "",
            f"{life.calls_per_job[kind]:.2f}" if kind in life.jobs_per_turn else "",
        )
    _CONSOLE.print(table)
    kept = _table("Kept of a turn, bytes", "table", "rows", "indexes", "large values")
    for name, parts in sorted(life.bytes_per_turn.items(), key=lambda entry: -sum(entry[1].values())):
        kept.add_row(name, *(f"{parts[part]:,.0f}" for part in ("rows", "indexes", "large")))
    _CONSOLE.print(kept)


def show_queue(found: Sequence[QueueCost]) -> None:
    """What the queue costs by its length."""
    columns = (
        "look ms",
        "claim ms",
        "wish ms",
        "watch ms",
        "KB a piece",
    )
    table = _table("The queue, by how much is due", "due", *columns)
    for one in found:
        times = (one.look_ms, one.claim_ms, one.want_ms, one.watch_ms)
        table.add_row(f"{one.due:,}", *(f"{value:.2f}" for value in times), f"{one.kb:.2f}")
    _CONSOLE.print(table)


def show_trials(found: Sequence[Trial]) -> None:
    """The simulation beside the real run."""
    table = _table(
        "Two workers, a real run beside its simulation", "load", "", "measured", "simulated", "off by"
    )
    for one in found:
        for name, real in vars(one.measured).items():
            made = vars(one.simulated)[name]
            off = (made - real) / real if real else 0.0
            table.add_row(f"{one.load:.0%}", name, f"{real:.2f}", f"{made:.2f}", f"{off:+.0%}")
    _CONSOLE.print(table)


def show_checks(found: Sequence[Check]) -> None:
    """The formulas beside the simulation."""
    columns = ("workers", "wait p95", "by event", "old work done", "by event", "caught up", "by event")
    table = _table("Summaries: formulas beside the simulation, seconds", "jobs a second", *columns)
    for one in found:
        times = (
            *(one.wait_p95_formula_s, one.wait_p95_event_s, one.old_work_formula_s, one.old_work_event_s),
            *(one.catch_up_formula_s, one.catch_up_event_s),
        )
        table.add_row(f"{one.jobs_per_s:g}", str(one.workers), *(f"{value:,.2f}" for value in times))
    _CONSOLE.print(table)


def show_needs(needs: Sequence[Need], habits: Habits) -> None:
    """What so many sessions need."""
    table = _table(
        f"Needed at the peak; {habits.active_share:.0%} of sessions a day, {habits.turns_a_day:g} turns each",
        "",
        *(f"{one.sessions:,}" for one in needs),
    )
    rows = {
        "turns a second": [f"{one.turns_per_s:.2f}" for one in needs],
        "API, processors": [f"{one.api_cpus:.2f}" for one in needs],
        "PostgreSQL, processors": [f"{one.postgres_cpus:.2f}" for one in needs],
        "workers, processors": [f"{one.worker_cpus:.2f}" for one in needs],
        "model calls a second": [f"{one.model_calls_per_s:,.1f}" for one in needs],
        "pieces of work at once": [f"{one.places:,}" for one in needs],
        "worker processes": [f"{one.processes:,}" for one in needs],
        "their memory, GB": [f"{one.worker_gb:,.1f}" for one in needs],
        "dispatcher, share of one": [f"{one.dispatcher_share:.1%}" for one in needs],
        "WAL, MB a second": [f"{one.wal_mb_per_s:.2f}" for one in needs],
        "commits a second": [f"{one.commits_per_s:,.1f}" for one in needs],
        "database, GB": [f"{one.database_gb:,.1f}" for one in needs],
        "connections": [f"{one.connections:,}" for one in needs],
        "night's learning, CPU minutes": [f"{one.night_cpu_minutes:.1f}" for one in needs],
    }
    for name in needs[0].queues:
        found = [one.queues[name] for one in needs]
        rows[f"{name}: jobs a second"] = [f"{one.jobs_per_s:.2f}" for one in found]
        rows[f"{name}: seconds a job"] = [f"{one.mean_s:.2f}" for one in found]
        rows[f"{name}: at once / processes"] = [f"{one.places:,} / {one.processes:,}" for one in found]
        rows[f"{name}: wait p50 / p99, s"] = [f"{one.wait_p50_s:.1f} / {one.wait_p99_s:.1f}" for one in found]
        rows[f"{name}: left by an hour without the model"] = [f"{one.outage.backlog:,.0f}" for one in found]
        rows[f"{name}: that is done after, min"] = [_minutes(one.outage.old_work_s) for one in found]
        rows[f"{name}: nothing waits after, min"] = [_minutes(one.outage.catch_up_s) for one in found]
    for name, cells in rows.items():
        table.add_row(name, *cells)
    _CONSOLE.print(table)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f}" if math.isfinite(seconds) else "never"
