"""The formulas beside the simulation: where both can be had, they must agree."""

import math
from dataclasses import dataclass
from random import Random

from benchmarks.scaling.capacity import Habits, Measured, by_queue, service_of
from benchmarks.scaling.queueing import Ask, Done, Queue, Rules, poisson
from benchmarks.scaling.theory import Service, catch_up, servers_needed, wait_quantile_s
from benchmarks.soak.verdict import percentiles

RATES = (0.5, 5.0, 20.0, 70.0)
"""The last is that of ten million sessions."""
LENGTH_S = 4 * 3_600.0
LATE_S = 30.0
OUTAGE = (1_800.0, 3_600.0)


@dataclass(frozen=True)
class Check:
    """One rate of the queue of summaries, by formula and by event.

    Attributes:
        jobs_per_s: Arrivals a second.
        workers: Worker processes.
        wait_p95_formula_s: By Erlang's C.
        wait_p95_event_s: By the simulation, the looks of the dispatcher left out.
        catch_up_formula_s: After half an hour without the model, until nothing waits, by the fluid.
        catch_up_event_s: The same by events, with work that is put off and comes back.
        old_work_formula_s: Until what was asked for meanwhile is done.
        old_work_event_s: The same by events.
    """

    jobs_per_s: float
    workers: int
    wait_p95_formula_s: float
    wait_p95_event_s: float
    catch_up_formula_s: float
    catch_up_event_s: float
    old_work_formula_s: float
    old_work_event_s: float


def check_theory(measured: Measured, habits: Habits) -> list[Check]:
    """Compare both at several rates, with the service times that were measured."""
    _, service = service_of(by_queue(measured, habits)["summaries"], measured, habits)
    return [_check(rate, service, habits) for rate in RATES]


def _check(rate: float, service: Service, habits: Habits) -> Check:
    enough = servers_needed(rate, service, most_wait_s=habits.most_wait_s)
    workers = max(enough, math.ceil(rate * service.mean_s * (1 + habits.reserve)))
    plain = _simulate(rate, service, Rules(workers, debounce_s=0.0, poll_s=0.0))
    fluid = catch_up(
        lambda _: rate,
        begins_s=OUTAGE[0],
        lasts_s=OUTAGE[1] - OUTAGE[0],
        servers=workers,
        mean_s=service.mean_s,
        sessions=math.inf,
    )
    away = _simulate(rate, service, Rules(workers, outage=OUTAGE))
    return Check(
        jobs_per_s=rate,
        workers=workers,
        wait_p95_formula_s=wait_quantile_s(workers, rate, service, 0.95),
        wait_p95_event_s=percentiles(plain.waits_s).p95,
        catch_up_formula_s=fluid.catch_up_s,
        catch_up_event_s=_caught_up(away),
        old_work_formula_s=fluid.old_work_s,
        old_work_event_s=_old_work(away),
    )


def _simulate(rate: float, service: Service, rules: Rules) -> Done:
    rng = Random(3)  # noqa: S311 (the same each time)
    times = poisson(lambda _: rate, rate, LENGTH_S, rng)
    sigma = math.sqrt(math.log(1 + service.variation**2))
    middle = math.log(service.mean_s) - sigma**2 / 2
    asks = [Ask(at, number) for number, at in enumerate(times)]
    return Queue(rules, lambda chance: chance.lognormvariate(middle, sigma), 4).run(asks)


def _old_work(done: Done) -> float:
    """How long after the outage work of its time still ends; the last two in a hundred left out."""
    begins, ends = OUTAGE
    late = [
        end
        for end, sojourn in zip(done.ends_s, done.sojourns_s, strict=True)
        if begins <= end - sojourn < ends and end > ends
    ]
    return max(sorted(late)[: max(len(late) * 98 // 100, 1)], default=ends) - ends


def _caught_up(done: Done) -> float:
    """How long after the outage work still waits for a worker longer than it ever does on other days."""
    times = zip(done.begins_s, done.waits_s, strict=True)
    return max((at for at, wait in times if at > OUTAGE[1] and wait > LATE_S), default=OUTAGE[1]) - OUTAGE[1]
