"""What ten million sessions ask for: `python -m benchmarks.scaling [--due 1000000]`.

Measures what each step of a turn's life costs on embedded servers, tries a simulation of the queue against a
small real run, and works out from both what 10,000 to 10,000,000 sessions need.
"""

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import structlog

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.report import save
from benchmarks.scaling.backlog import QueueCost, measure_queue
from benchmarks.scaling.capacity import Habits, Measured, need
from benchmarks.scaling.check import check_theory
from benchmarks.scaling.saved import read_saved
from benchmarks.scaling.shown import show_checks, show_life, show_needs, show_queue, show_trials
from benchmarks.scaling.steps import Life, measure_life
from benchmarks.scaling.trial import BY_NUMBER, Trial, calibrate, try_load
from benchmarks.soak.run import Plan, scripted_model, settings
from benchmarks.soak.samples import cores

SESSIONS = (10_000, 100_000, 1_000_000, 10_000_000)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
LOADS = (0.5, 0.8)
TRIAL_MODEL_S = 0.4
TRIAL_S = 75.0
LEARN_US_PER_PLAN = 57.0
"""Used where the learning of a night was not measured: `python -m benchmarks.learning_scale`."""


def main() -> None:
    """Measure, simulate, show, keep."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--due", type=int, default=1_000_000, help="the most work that is due at once")
    parser.add_argument("--saved", action="store_true", help="work it out from what was measured last")
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    if asked.saved:
        try:
            life, queue, trials = read_saved()
        except FileNotFoundError:
            parser.error("nothing was measured on this machine yet; run it once without --saved")
    else:
        life, queue = _measure([size for size in SIZES if size <= asked.due])
        trials = _try()
    show_life(life)
    show_queue(queue)
    show_trials(trials)
    measured = _measured(life, queue)
    habits = Habits()
    checks = check_theory(measured, habits)
    show_checks(checks)
    needs = [need(sessions, measured, habits) for sessions in SESSIONS]
    show_needs(needs, habits)
    results: dict[str, Any] = {
        "cores": cores(),
        "costs": {name: cost.to_json() for name, cost in life.costs.items()},
        "jobs_per_turn": life.jobs_per_turn,
        "turns": life.turns,
        "calls_per_job": life.calls_per_job,
        "bytes_per_turn": life.bytes_per_turn,
        "queue": [one.to_json() for one in queue],
        "trials": [one.to_json() for one in trials],
        "checks": [asdict(one) for one in checks],
        "habits": asdict(habits),
        "needs": [one.to_json() for one in needs],
    }
    save("scaling", results)


def _measure(sizes: list[int]) -> tuple[Life, list[QueueCost]]:
    with _model(0.001) as settings_of_model:
        os.environ.update(settings_of_model)
        with Stack(roles=(*SERVERS, StackRole.API)) as stack:
            os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
            os.environ["AFTERTURN_BROKER_URL"] = stack.at.broker_url
            return measure_life(stack), measure_queue(stack, sizes)


def _try() -> list[Trial]:
    with _model(TRIAL_MODEL_S) as settings_of_model:
        os.environ.update({**settings_of_model, **BY_NUMBER})
        roles = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER)
        with Stack(roles=roles) as stack:
            own_s = calibrate(stack)
            return [
                try_load(stack, load, own_s=own_s, model_median_s=TRIAL_MODEL_S, seconds=TRIAL_S)
                for load in LOADS
            ]


@contextmanager
def _model(median_s: float) -> Iterator[dict[str, str]]:
    plan = Plan(minutes=1, seed=5, clients=1, rate=1, workers=2, searches=False, model_s=median_s, faulty=0.0)
    with scripted_model(plan) as model:
        yield settings(model.base_url)


def _measured(life: Life, queue: list[QueueCost]) -> Measured:
    return Measured(
        costs=life.costs,
        jobs_per_turn=life.jobs_per_turn,
        calls_per_job=life.calls_per_job,
        bytes_per_turn=sum(sum(parts.values()) for parts in life.bytes_per_turn.values()),
        look_ms=queue[-1].look_ms,
        learn_us_per_plan=LEARN_US_PER_PLAN,
    )


if __name__ == "__main__":
    main()
