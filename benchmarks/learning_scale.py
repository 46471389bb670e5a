"""Measure how a night's learning grows with the plans that are new: time, memory, and what is kept.

python -m benchmarks.learning_scale [--sizes 10000 100000 1000000]

Each size is a tenant of its own with a catalog and that many plans with outcomes in PostgreSQL, hardly two
intents the same. The job of workers does all of it in a process of its own, from the first plan: read, count,
prune, weigh up, judge, put in force. `set` is the size of the blob that the API loads.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
from rich.console import Console
from rich.table import Table

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from benchmarks.report import save
from context.catalog.read import read_catalog
from models import database as session
from models.catalogs.catalog import put_catalog
from models.due_work.queue import WorkKind, enqueue, find_work
from models.learning.prior_set import SetKind
from models.learning.set_listing import list_sets
from models.learning.settings import LearningSettings
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.data import DATA, read_jsonl
from workers.jobs.learn.night import CATALOG, learn
from workers.jobs.lifecycle import run_work
from workers.settings import WorkerSettings

SIZES = (10_000, 100_000, 1_000_000)
NAME = "main"
MOST_SECONDS = 120
DAYS = 365
NEW_WORDS = 10_000
_COLUMNS = (
    "tenant_id, plan_id, source, status, intent_sha, features, complexity, mode, catalog, method,"
    " intent, steps, ready_at, outcome_at, outcome_seq"
)
_SAME = ("asked", "ready", b"\0", "{}", 0.1, "plan", NAME, "llm")


def plans(size: int) -> Iterator[tuple[str, str]]:
    """So many intents and their tools: questions of others, each with two words that few others have."""
    rows = read_jsonl(DATA / "metatool" / "history.jsonl")
    chance = random.Random(7)  # noqa: S311 (the same each time)
    for _ in range(size):
        row = chance.choice(rows)
        words = row["query"].split()
        words[chance.randrange(len(words))] = f"topic{chance.randrange(NEW_WORDS)}"
        words.insert(chance.randrange(len(words)), f"name{chance.randrange(NEW_WORDS)}")
        yield " ".join(words), row["tools"][0]


def seed(database: psycopg.Connection, size: int) -> UUID:
    """A tenant with a catalog and so many plans, one in twenty of which failed."""
    document = {"tools": read_jsonl(DATA / "metatool" / "catalog.jsonl")}
    with session.transaction() as db:
        tenant_id = ensure_tenant(db, f"bench-{size}")
        catalog = read_catalog(document)
        now = datetime.now(UTC)
        body = json.dumps(document)
        put_catalog(Scope(db, tenant_id), NAME, catalog, body=body, tokens=1, now=now, keep_versions=2)
    began = datetime.now(UTC).timestamp() - DAYS * 86_400
    with database.cursor().copy(f"copy plan_history ({_COLUMNS}) from stdin") as copied:
        for place, (intent, tool) in enumerate(plans(size), 1):
            at = datetime.fromtimestamp(began + place / size * DAYS * 86_400, UTC)
            outcome = "error" if place % 20 == 0 else "ok"
            steps = json.dumps([{"order": 1, "tool": tool, "args": {}, "rationale": "", "outcome": outcome}])
            copied.write_row((tenant_id, uuid4(), *_SAME, intent, steps, at, at, place))
    database.execute("select setval('plan_outcome_seq', greatest(%s, nextval('plan_outcome_seq')))", (size,))
    database.execute("analyze plan_history")
    return tenant_id


def learn_all(tenant_id: UUID, url: str, results: "multiprocessing.SimpleQueue[dict[str, Any]]") -> None:
    """Learn as a worker does, and say what it took; runs in a process of its own."""
    os.environ["AFTERTURN_DATABASE_URL"] = url
    settings = LearningSettings()
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        enqueue(scope, WorkKind.LEARN, CATALOG + NAME)
        work = find_work(scope, WorkKind.LEARN, CATALOG + NAME)
    before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began, began_cpu = time.perf_counter(), time.process_time()
    handlers = {WorkKind.LEARN: lambda held: learn(held, settings=settings)}
    outcome = run_work(work.work_id if work else 0, handlers, WorkerSettings())
    results.put(
        {
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - began_cpu,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "before_mb": before_mb,
            "outcome": outcome,
        }
    )


def measure(url: str, size: int) -> dict[str, Any]:
    """Seed a tenant, have it learned from in another process, and read what came of it."""
    with psycopg.connect(url, autocommit=True) as database:
        tenant_id = seed(database, size)
    results: multiprocessing.SimpleQueue[dict[str, Any]] = multiprocessing.get_context("spawn").SimpleQueue()
    process = multiprocessing.get_context("spawn").Process(target=learn_all, args=(tenant_id, url, results))
    process.start()
    found = results.get()
    process.join()
    with session.read_transaction() as db:
        made = list_sets(Scope(db, tenant_id), kind=SetKind.RANKING)[0]
    return {"plans": size, **found, "set_kb": (made.bytes or 0) / 1024, "evaluation": made.evaluation}


def main() -> None:
    """Print the growth and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    sizes = parser.parse_args().sizes
    with Stack(roles=SERVERS) as stack:
        os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
        rows = [measure(stack.at.database_url, size) for size in sizes]
    columns = ("plans", "seconds", "CPU s", "us a plan", "peak MB", "set KB", "recall@5 words", "learned")
    table = Table(*columns, title=f"One night's learning; wanted: 1,000,000 plans in {MOST_SECONDS} s")
    for row in rows:
        recalls = [f"{row['evaluation'][which]['recall_at_5']:.3f}" for which in ("words", "new")]
        numbers = [f"{row[name]:.1f}" for name in ("seconds", "cpu_seconds")]
        each = f"{row['cpu_seconds'] / row['plans'] * 1e6:.0f}"
        table.add_row(
            f"{row['plans']:,}", *numbers, each, f"{row['peak_mb']:.0f}", f"{row['set_kb']:.0f}", *recalls
        )
    Console(width=120).print(table)
    save("learning_scale", rows)


if __name__ == "__main__":
    main()
