"""Measure how rows that change all the time are changed: in place, or with a new entry in every index.

python -m benchmarks.busy_rows [--seconds 20] [--clients 3]

The first table is of real traffic: turns over HTTP, each session's summaries made by a worker. The second
takes work through its life, step by step. The third is what many such lives cost, and what indexes grow by.
"""

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine, create_engine, text

from afterturn.stack.roles import SERVERS, StackRole
from afterturn.stack.stack import Stack
from benchmarks.intake.load import Clients, singles
from benchmarks.report import save
from models.database import Transaction
from models.due_work.queue import WorkKind, claim, enqueue, finish, renew
from models.scope import Scope
from models.tenants.tenant import ensure_tenant

BUSY = ("session", "due_work", "heartbeat", "provider_gate", "metric_count")
ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER)
QUICK = {
    "SUMMARIZER_MODEL": "extractive",
    "CONTEXT_PLANNER_MODEL": "extractive",
    "AFTERTURN_SUMMARIZE_MESSAGE_COUNT": "6",
    "AFTERTURN_SUMMARIZE_LEAST_SHARE": "0",
    "AFTERTURN_SUMMARIZE_LEAST_TOKENS": "0",
    "AFTERTURN_SUMMARIZE_KEEP_MESSAGES": "2",
    "AFTERTURN_SUMMARIZE_DEBOUNCE_S": "0.2",
}
SETTLE_S = 3.0
"""Processes tell Postgres of their rows about once a second."""

NO_DISK = "-c synchronous_commit=off"
"""The cost of rows is asked for, not that of the disk that each commit waits for."""

ROUNDS, PIECES = 10, 300

_UPDATES = """
select relname, n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = any(%s)
"""
_SIZES = """
select relname, pg_relation_size(oid) from pg_class
where oid = 'due_work'::regclass
    or oid in (select indexrelid from pg_index where indrelid = 'due_work'::regclass)
order by relkind desc, relname
"""


def updates(database_url: str) -> dict[str, tuple[int, int]]:
    """All updates of each table so far, and those that left every index alone."""
    with psycopg.connect(database_url) as database:
        found = database.execute(_UPDATES, (list(BUSY),))
        return {name: (changed, in_place) for name, changed, in_place in found}


def sizes(database_url: str) -> dict[str, int]:
    """The bytes of due work and of each of its indexes."""
    with psycopg.connect(database_url) as database:
        return {str(name): int(bytes_) for name, bytes_ in database.execute(_SIZES)}


def of_traffic(stack: Stack, *, clients: int, seconds: float) -> list[dict[str, Any]]:
    """Updates of the busy tables while turns come in and summaries are made."""
    before = updates(stack.at.database_url)
    Clients(singles(stack.at.base_url, stack.at.api_key), clients).send(seconds)
    time.sleep(SETTLE_S)
    after = updates(stack.at.database_url)
    rows: list[dict[str, Any]] = []
    for table in BUSY:
        changed, in_place = (now - then for now, then in zip(after[table], before[table], strict=True))
        rows.append({"table": table, "updates": changed, "in_place": in_place})
    return rows


Step = Callable[[str, Callable[[Transaction], Any]], Any]
"""Does something in a transaction, under the name of a step."""

_COUNTED = text(
    "select pg_stat_get_xact_tuples_updated('due_work'::regclass) as updates, "
    "pg_stat_get_xact_tuples_hot_updated('due_work'::regclass) as in_place"
)


def of_steps(engine: Engine, tenant_id: UUID) -> list[dict[str, Any]]:
    """Updates of due work by the step of its life."""
    told: dict[str, dict[str, Any]] = {}

    def step(name: str, do: Callable[[Transaction], Any]) -> Any:
        with engine.begin() as db:
            before = db.execute(_COUNTED).one()
            came = do(db)
            after = db.execute(_COUNTED).one()
        sums = told.setdefault(name, {"step": name, "updates": 0, "in_place": 0})
        sums["updates"] += after.updates - before.updates
        sums["in_place"] += after.in_place - before.in_place
        return came

    for number in range(PIECES * 3):
        _live(step, tenant_id, f"step-{number % PIECES}")
    return list(told.values())


_WORK_ID = text(
    "select work_id from due_work where tenant_id = :tenant_id and kind = 'summarize' and key = :key"
)


def _live(step: Step, tenant_id: UUID, key: str) -> None:
    def ask(db: Transaction) -> Any:
        enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, key)
        found = db.execute(_WORK_ID, {"tenant_id": tenant_id, "key": key})
        return found.scalar_one()

    work_id = step("asked for", ask)
    step("asked for again", ask)
    held = step("claimed", lambda db: claim(db, work_id, lease_s=60, max_crashes=3))
    step("renewed", lambda db: renew(db, held, lease_s=60))
    step("finished", lambda db: finish(db, held, "done"))


def of_growth(engine: Engine, database_url: str, tenant_id: UUID) -> dict[str, tuple[int, int]]:
    """Bytes of due work and its indexes, before and after the same rows lived many times."""

    def step(_name: str, do: Callable[[Transaction], Any]) -> Any:
        with engine.begin() as db:
            return do(db)

    def live(number: int) -> None:
        _live(step, tenant_id, f"grow-{number % PIECES}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(live, range(PIECES)))
        before = sizes(database_url)
        for _ in range(ROUNDS):
            list(pool.map(live, range(PIECES)))
    after = sizes(database_url)
    return {name: (before[name], after[name]) for name in after}


def shown(title: str, rows: list[dict[str, Any]], first: str) -> Table:
    """Updates, and the share of them that was done in place."""
    table = Table(title=title)
    for column in (first, "updates", "in place"):
        table.add_column(column, justify="left" if column == first else "right")
    for row in rows:
        share = f"{row['in_place'] / row['updates']:.0%}" if row["updates"] else "-"
        table.add_row(row[first], f"{row['updates']:,}", share)
    return table


def main() -> None:
    """Print the tables and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=3)
    options = parser.parse_args()
    os.environ.update(QUICK)
    with Stack(roles=ROLES) as stack:
        traffic = of_traffic(stack, clients=options.clients, seconds=options.seconds)
    with Stack(roles=SERVERS) as stack:
        engine = create_engine(stack.at.database_url, connect_args={"options": NO_DISK})
        with engine.begin() as db:
            tenant_id = ensure_tenant(db, "busy")
        steps = of_steps(engine, tenant_id)
        growth = of_growth(engine, stack.at.database_url, tenant_id)
        engine.dispose()
    console = Console()
    console.print(shown("Under traffic", traffic, "table"), shown("A piece of work's life", steps, "step"))
    lives = Table("due_work", "KiB before", "KiB after", title=f"{ROUNDS * PIECES:,} such lives")
    for name, (before, after) in growth.items():
        lives.add_row(name, f"{before // 1_024:,}", f"{after // 1_024:,}")
    console.print(lives)
    save("busy_rows", {"traffic": traffic, "steps": steps, "growth": growth})


if __name__ == "__main__":
    main()
