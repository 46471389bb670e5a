"""Measure how soon a worker starts: awaited against insert and send, debounced against its due time.

python -m benchmarks.event_to_worker [--rounds 100]
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime

import psycopg
from celery import Celery
from rich.console import Console
from rich.table import Table

from afterturn.stack.stack import Stack
from benchmarks.report import save
from models.scope import Scope

DELAY_S = 1.0


def started_at(database: psycopg.Connection, work_id: int, after: datetime) -> datetime:
    """Wait until a worker has finished this piece of work, and say when."""
    while True:
        row = database.execute("select finished_at from due_work where work_id = %s", (work_id,)).fetchone()
        if row and row[0] and row[0] > after:
            found: datetime = row[0]
            return found
        time.sleep(0.0005)


def measure(rounds: int, once: Callable[[int], float]) -> list[float]:
    """Run so often and keep the ms of each, the first tenth left out as warming."""
    return [once(number) for number in range(rounds)][rounds // 10 :]


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    with Stack() as stack, psycopg.connect(stack.at.database_url, autocommit=True) as database:
        os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
        from models.database import transaction  # noqa: PLC0415 (settings are read when first needed
        from models.due_work.queue import WorkKind, enqueue, find_work  # noqa: PLC0415
        from models.tenants.tenant import ensure_tenant  # noqa: PLC0415

        with transaction() as db:
            tenant_id = ensure_tenant(db, "bench")
        celery = Celery("bench", broker=stack.at.broker_url)

        def ask(key: str, *, delay_s: float = 0, awaited: bool = False, hint: bool = False) -> float:
            """Have a session summarized that does not exist: the job ends at once, and says when."""
            asked = datetime.now(UTC)
            with Scope.write(tenant_id) as scope:
                enqueue(scope, WorkKind.SUMMARIZE, key, delay_s=delay_s, awaited=awaited)
                work = find_work(scope, WorkKind.SUMMARIZE, key)
            if work is None:
                raise RuntimeError("the work was not stored")
            if hint:
                celery.send_task(
                    "summaries.summarize",
                    args=[work.work_id],
                    queue="summaries",
                    ignore_result=True,
                    retry=False,
                )
            return (started_at(database, work.work_id, asked) - asked).total_seconds() * 1000

        awaited = measure(rounds, lambda n: ask(f"awaited-{n}", awaited=True))
        floor = measure(rounds, lambda n: ask(f"floor-{n}", hint=True))
        debounced = measure(
            max(rounds // 10, 10), lambda n: ask(f"late-{n}", delay_s=DELAY_S) - DELAY_S * 1000
        )
    table = Table(title="From the event's commit to the end of an empty job, ms")
    for column in ("path", "p50", "p99", "against the floor"):
        table.add_column(column, justify="right")
    base = statistics.median(floor)
    for name, values in (
        ("insert + send_task (floor)", floor),
        ("awaited: NOTIFY, dispatcher, hint", awaited),
        ("debounced: after its due time", debounced),
    ):
        p50, p99 = statistics.median(values), statistics.quantiles(values, n=100)[98]
        table.add_row(name, f"{p50:.1f}", f"{p99:.1f}", f"{p50 / base:.2f}")
    Console().print(table)
    save("event_to_worker", {"floor_ms": floor, "awaited_ms": awaited, "debounced_ms": debounced})


if __name__ == "__main__":
    main()
