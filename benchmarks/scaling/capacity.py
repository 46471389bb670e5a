"""The capacity model: what so many sessions ask of processes, processors, disks and connections."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.scaling.meter import Cost
from benchmarks.scaling.theory import (
    DAY_S,
    Outage,
    Service,
    catch_up,
    day_curve,
    servers_needed,
    wait_quantile_s,
)
from models.due_work.kinds import WorkKind


@dataclass(frozen=True)
class Habits:
    """How sessions are used; every number is an assumption that an operator can change.

    Attributes:
        active_share: Share of all sessions that has a turn on a day.
        turns_a_day: Turns of such a session on such a day.
        peak_factor: The busiest minute's rate over the day's mean.
        turns_kept: Turns that a session holds on the average.
        plans_per_turn: Plans that are asked for, for each turn.
        model_mean_s: What a call of a model takes on the average.
        model_variation: Standard deviation over mean of that.
        worker_mb: Memory of a worker process, with its part of what they share.
        pieces_at_once: Pieces of work that a process does at once in a queue whose work waits for models.
        call_mb: Memory of a call of a model under way.
        busy: The share of a processor that is planned for; the rest is for what comes unevenly.
        reserve: Workers above the load of the peak, as a share of it: they work off what an outage left.
        most_wait_s: How long nineteen of twenty pieces of work may wait for a worker at the peak.
    """

    active_share: float = 0.05
    turns_a_day: float = 10.0
    peak_factor: float = 2.5
    turns_kept: float = 30.0
    plans_per_turn: float = 0.05
    model_mean_s: float = 4.0
    model_variation: float = 0.8
    worker_mb: float = 150.0
    pieces_at_once: int = 50
    call_mb: float = 1.0
    busy: float = 0.6
    reserve: float = 0.25
    most_wait_s: float = 2.0


@dataclass(frozen=True)
class Measured:
    """What one machine was measured at.

    Attributes:
        costs: Each step's cost.
        jobs_per_turn: Pieces of work of a turn, by kind.
        calls_per_job: Calls of a model of a piece, by kind.
        bytes_per_turn: What the database keeps of a turn.
        look_ms: A look of the dispatcher at the largest queue.
        learn_us_per_plan: CPU of the night for a plan, in microseconds.
    """

    costs: Mapping[str, Cost]
    jobs_per_turn: Mapping[str, float]
    calls_per_job: Mapping[str, float]
    bytes_per_turn: float
    look_ms: float
    learn_us_per_plan: float


LOOKS_PER_S = 4
"""Of a dispatcher, whatever is due."""

CONNECTIONS_OF_API = 8
CONNECTIONS_OF_PIECE = 2
CONNECTIONS_OF_WORKER = 8
"""Open at the peak: a piece has one for its transaction and one to renew its lease; a process has a most."""


@dataclass(frozen=True)
class QueueNeed:
    """What one queue needs.

    Attributes:
        jobs_per_s: Pieces of work a second at the peak.
        mean_s: What a piece takes, models included.
        places: Pieces done at once, so that waits stay short at the peak.
        processes: Worker processes with so many places, and with enough processors for their own work.
        wait_p50_s: How long half of all work waits with so many.
        wait_p99_s: How long one in a hundred waits at least.
        outage: After an hour without the model, at the busiest time.
    """

    jobs_per_s: float
    mean_s: float
    places: int
    processes: int
    wait_p50_s: float
    wait_p99_s: float
    outage: Outage


@dataclass(frozen=True)
class Need:
    """What so many sessions need."""

    sessions: int
    turns_per_s: float
    api_cpus: float
    postgres_cpus: float
    worker_cpus: float
    queues: dict[str, QueueNeed]
    model_calls_per_s: float
    places: int
    processes: int
    worker_gb: float
    dispatcher_share: float
    wal_mb_per_s: float
    commits_per_s: float
    database_gb: float
    connections: int
    night_cpu_minutes: float

    def to_json(self) -> dict[str, Any]:
        """For the results."""
        return asdict(self)


def service_of(kinds: Mapping[str, float], measured: Measured, habits: Habits) -> tuple[float, Service]:
    """A queue's pieces of work for each turn, and what one takes, of these kinds' mixture."""
    total = sum(kinds.values())
    means = {kind: _seconds(kind, measured, habits) for kind in kinds}
    mean = sum(share * means[kind] for kind, share in kinds.items()) / total
    square = (
        sum(share * (_variance(kind, measured, habits) + means[kind] ** 2) for kind, share in kinds.items())
        / total
    )
    return total, Service(mean, max(square - mean**2, 0.0) ** 0.5 / mean)


def _seconds(kind: str, measured: Measured, habits: Habits) -> float:
    """The processors' time and the model's; what a busy machine adds is not the job's."""
    cost = measured.costs[f"job {kind}"]
    own = (cost.process_cpu_ms + cost.postgres_cpu_ms) / 1000
    return own + measured.calls_per_job.get(kind, 0.0) * habits.model_mean_s


def _variance(kind: str, measured: Measured, habits: Habits) -> float:
    """Calls follow one another; whether there is one at all varies too, as in a Poisson number of calls."""
    calls = measured.calls_per_job.get(kind, 0.0)
    return calls * habits.model_mean_s**2 * (1 + habits.model_variation**2)


def by_queue(measured: Measured, habits: Habits) -> dict[str, dict[str, float]]:
    """Pieces of work for each turn, by queue and kind; plans by the habits, all else as measured."""
    found: dict[str, dict[str, float]] = {}
    for kind, share in {**measured.jobs_per_turn, "plan": habits.plans_per_turn}.items():
        if share and f"job {kind}" in measured.costs:
            found.setdefault(WorkKind(kind).queue.value, {})[kind] = share
    return found


def need(sessions: int, measured: Measured, habits: Habits) -> Need:
    """Work out what so many sessions need at the busiest minute of a day."""
    mean_rate = sessions * habits.active_share * habits.turns_a_day / DAY_S
    peak = mean_rate * habits.peak_factor
    queues = {
        name: _queue_need(kinds, peak, sessions, measured, habits)
        for name, kinds in by_queue(measured, habits).items()
    }
    jobs = {kind: share for kinds in by_queue(measured, habits).values() for kind, share in kinds.items()}
    steps = {"intake": 1.0, "context": 1.0, "preflight": 1.0}
    api_ms = sum(share * measured.costs[name].process_cpu_ms for name, share in steps.items())
    work = {f"job {kind}": share for kind, share in jobs.items()}
    postgres_ms = sum(s * measured.costs[name].postgres_cpu_ms for name, s in {**steps, **work}.items())
    worker_ms = sum(share * measured.costs[name].process_cpu_ms for name, share in work.items())
    wal_kb = sum(share * measured.costs[name].wal_kb for name, share in {**steps, **work}.items())
    places = sum(queue.places for queue in queues.values())
    processes = sum(queue.processes for queue in queues.values())
    of_worker = min(CONNECTIONS_OF_WORKER, CONNECTIONS_OF_PIECE * math.ceil(places / processes))
    api = peak * api_ms / 1000 / habits.busy
    return Need(
        sessions=sessions,
        turns_per_s=peak,
        api_cpus=api,
        postgres_cpus=peak * postgres_ms / 1000 / habits.busy,
        worker_cpus=peak * worker_ms / 1000 / habits.busy,
        queues=queues,
        model_calls_per_s=peak * sum(s * measured.calls_per_job.get(kind, 0.0) for kind, s in jobs.items()),
        places=places,
        processes=processes,
        worker_gb=(processes * habits.worker_mb + places * habits.call_mb) / 1024,
        dispatcher_share=LOOKS_PER_S * measured.look_ms / 1000,
        wal_mb_per_s=peak * wal_kb / 1024,
        commits_per_s=peak * (1 + 4 * sum(jobs.values())),
        database_gb=sessions * habits.turns_kept * measured.bytes_per_turn / 1e9,
        connections=round(CONNECTIONS_OF_API * max(api, 1) + of_worker * processes),
        night_cpu_minutes=mean_rate * DAY_S * habits.plans_per_turn * measured.learn_us_per_plan / 6e7,
    )


def _queue_need(
    kinds: Mapping[str, float], peak: float, sessions: int, measured: Measured, habits: Habits
) -> QueueNeed:
    share, service = service_of(kinds, measured, habits)
    rate = peak * share
    enough = servers_needed(rate, service, most_wait_s=habits.most_wait_s)
    places = max(enough, math.ceil(rate * service.mean_s * (1 + habits.reserve)))
    calls = any(measured.calls_per_job.get(kind, 0.0) for kind in kinds)
    own_s = sum(part * measured.costs[f"job {kind}"].process_cpu_ms for kind, part in kinds.items()) / 1000
    busy = math.ceil(peak * own_s / habits.busy)

    def rate_at(at_s: float) -> float:
        return rate / habits.peak_factor * day_curve(at_s, peak_factor=habits.peak_factor)

    outage = catch_up(
        rate_at,
        begins_s=13.5 * 3600,
        lasts_s=3600,
        servers=places,
        mean_s=service.mean_s,
        sessions=sessions * habits.active_share,
    )
    return QueueNeed(
        jobs_per_s=rate,
        mean_s=service.mean_s,
        places=places,
        processes=max(busy, math.ceil(places / (habits.pieces_at_once if calls else 1))),
        wait_p50_s=wait_quantile_s(places, rate, service, 0.5),
        wait_p99_s=wait_quantile_s(places, rate, service, 0.99),
        outage=outage,
    )
