"""Live through a platform's day in minutes: `python -m benchmarks.soak --minutes 10 --seed N --clients K`.

Servers, API, dispatcher, worker and beat run as they do for people, before a scripted model over HTTP that is
as slow as real ones. Traffic of many tenants comes by a schedule of its own, however slowly it is answered.
Exit 1 where anything acknowledged is lost, a call is answered by a 5xx, or memory or the queue's age grows.
"""

import argparse
import math
import secrets
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.report import RESULTS, save
from benchmarks.soak.picture import draw
from benchmarks.soak.run import Course, Plan, run
from benchmarks.soak.samples import cores
from benchmarks.soak.shown import show_calls, show_course, show_faults, show_growth
from benchmarks.soak.verdict import Growth, by_call, growths, percentiles


def main() -> int:
    """Run, show, keep the numbers. Returns the exit code."""
    asked = _asked()
    plan = Plan(
        minutes=asked.minutes,
        seed=asked.seed,
        clients=asked.clients,
        rate=asked.rate,
        workers=asked.workers,
        searches=asked.search,
        model_s=asked.model_s,
        faulty=asked.faulty,
    )
    pace = f"{plan.rate:g} steps a second by {plan.clients} clients, {plan.workers} workers,"
    print(f"seed {plan.seed}: {pace} for {plan.minutes:g} minutes", flush=True)
    course = run(plan)
    found = growths(
        course.samples, most_mb_per_hour=asked.most_mb_per_hour, most_age_s_per_hour=asked.most_age_s_per_hour
    )
    _show(course, found)
    _keep(asked.name, plan, course, found)
    return 1 if course.book.faults or any(one.is_too_much for one in found) else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=_positive, default=10, help="how long the steady traffic lasts")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="decides every step")
    parser.add_argument("--clients", type=int, default=8, help="callers at once")
    parser.add_argument("--rate", type=_positive, default=12, help="steps a second of all together")
    parser.add_argument("--workers", type=int, default=8, help="processes of workers, at least 2")
    parser.add_argument(
        "--search", action="store_true", help="then look for the highest rate with a flat queue"
    )
    parser.add_argument(
        "--model-s", type=_positive, default=0.6, help="the model's median latency, in seconds"
    )
    parser.add_argument(
        "--faulty", type=float, default=0.01, help="share of the model's answers that are wrong"
    )
    parser.add_argument("--most-mb-per-hour", type=float, default=90, help="growth of a process's own memory")
    parser.add_argument("--most-age-s-per-hour", type=float, default=10, help="growth of the queue's age")
    parser.add_argument("--name", default="soak", help="of the files in benchmarks/results")
    return parser.parse_args()


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def _show(course: Course, found: list[Growth]) -> None:
    show_course(course.book.calls, course.samples, course.length_s)
    show_calls(course.book, course.length_s)
    show_growth(found)
    show_faults(course.book.faults, course.book.statuses)
    print(f"All due work was done {course.settled_s:.1f} s after the last call.")
    if course.highest_rate is not None:
        print(f"Highest rate with a flat queue: {course.highest_rate:.1f} steps a second on {cores()} cores.")
    print(f"{len(course.book.calls):,} calls, {len(course.book.faults)} faults")


def _finite(growth: Growth) -> dict[str, object]:
    """JSON has no infinity: an open end of an interval is null."""
    ends = {name: value if math.isfinite(value) else None for name, value in asdict(growth.slope).items()}
    return {**asdict(growth), "slope": ends}


def _keep(name: str, plan: Plan, course: Course, found: list[Growth]) -> None:
    picture = RESULTS / f"{name}.png"
    save(
        name,
        {
            "plan": asdict(plan),
            "cores": cores(),
            "length_s": course.length_s,
            "calls": {
                call: asdict(percentiles(values)) for call, values in by_call(course.book.calls).items()
            },
            "growth_an_hour": [_finite(one) for one in found],
            "highest_steps_per_s": course.highest_rate,
            "settled_s": course.settled_s,
            "faults": course.book.faults[:100],
        },
    )
    draw(picture, course.book.calls, course.samples)
    print(f"Numbers: {Path('benchmarks/results') / name}.json, the course as a picture: {picture.name}")


if __name__ == "__main__":
    sys.exit(main())
