"""What the samples say in the end: percentiles by call, growth by process, and what is too much."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import quantiles

from benchmarks.soak.call import Timed
from benchmarks.soak.samples import Sample
from benchmarks.soak.slope import Slope, robust_slope

HOUR_S = 3600.0
WARM_SHARE = 0.4
"""The first part of a run is not judged: caches fill, pools open, processes are not warm yet."""

JUDGED_S = 240.0
"""A shorter stretch after that says nothing about an hour."""


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds, from the moment a call was due."""

    count: int
    p50: float
    p95: float
    p99: float


def percentiles(values: Sequence[float]) -> Percentiles:
    """The three, of any number of values; zeros for none."""
    if len(values) < 2:
        only = values[0] if values else 0.0
        return Percentiles(len(values), only, only, only)
    cuts = quantiles(values, n=100, method="inclusive")
    return Percentiles(len(values), cuts[49], cuts[94], cuts[98])


def by_call(calls: Iterable[Timed]) -> dict[str, list[float]]:
    """How long each call took from when it was due, by its name."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for one in calls:
        grouped[one.call].append(one.late_ms + one.took_ms)
    return dict(grouped)


@dataclass(frozen=True)
class Growth:
    """How something grew after the warm-up.

    Attributes:
        what: Its name.
        slope: Per hour.
        last: Its last value.
        limit: The most per hour; None where growth is no fault.
        is_judged: Whether the run was long enough for a verdict.
    """

    what: str
    slope: Slope
    last: float
    limit: float | None
    is_judged: bool

    @property
    def is_too_much(self) -> bool:
        """Whether even the lower end of the interval is above the limit."""
        return self.is_judged and self.limit is not None and self.slope.low > self.limit


def growths(
    samples: Sequence[Sample], *, most_mb_per_hour: float, most_age_s_per_hour: float
) -> list[Growth]:
    """How memory of each role's average process grows, the queue's age, connections, the database.

    Args:
        samples: Of the steady traffic alone.
        most_mb_per_hour: The limit for a process.
        most_age_s_per_hour: The limit for the age of the oldest due work.
    """
    settled = list(samples[int(len(samples) * WARM_SHARE) :])
    if not settled:
        return []
    is_judged = settled[-1].at_s - settled[0].at_s >= JUDGED_S
    looks: dict[str, tuple[Callable[[Sample], float], float | None]] = {
        f"{role}, MB a process": (_memory_of(role), most_mb_per_hour) for role in settled[-1].memory_mb
    }
    looks["broker's data, MB"] = (lambda one: one.broker_mb, most_mb_per_hour)
    looks["oldest due work, s"] = (lambda one: one.age_s, most_age_s_per_hour)
    looks["connections"] = (lambda one: float(one.connections), None)
    looks["database, MB"] = (lambda one: one.database_mb, None)
    hours = [one.at_s / HOUR_S for one in settled]
    return [
        Growth(
            what, robust_slope(hours, values := [look(one) for one in settled]), values[-1], limit, is_judged
        )
        for what, (look, limit) in looks.items()
    ]


def _memory_of(role: str) -> Callable[[Sample], float]:
    return lambda one: one.memory_mb.get(role, 0.0) / max(one.processes.get(role, 1), 1)
