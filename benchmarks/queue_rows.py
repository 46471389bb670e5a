"""Measure looks, claims and wishes beside up to ten million pieces of due work of ten thousand tenants.

python -m benchmarks.queue_rows [--rows 1000000] [--tenants 10000] [--rounds 100]

The disk that the rows need is printed first. Rows grow tenfold from ten thousand, and each time stands beside
its ratio to that of the fewest rows. Each number is of one connection; the commit waits for no disk. Pages
are those of the table and its indexes, in memory or not. The newcomer is a tenant whose only piece came last.
A claim is that of a worker for ordinary work: the worker for isolated work looks at each running piece too.
"""

import argparse
import shutil
import sys
import tempfile
from functools import partial
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine, create_engine, text

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from benchmarks.report import save
from benchmarks.turns import NO_DISK, claimed, prepare, times_ms
from models.due_work.fair_claim import Turns, look
from models.due_work.queue import WorkKind, enqueue
from models.scope import Scope
from models.tenants.tenant import ensure_tenant

FEWEST = 10_000
KB_A_ROW = 0.7
"""A due row with its indexes and its part of the write-ahead log, rounded up."""

STEPS = ("look", "claim", "warm_claim", "enqueue")
"""A warm claim comes after a whole round of all tenants, when the pages of most heads are in memory."""

_PAGES = text("""
    select heap_blks_read + idx_blks_read as fetched,
        heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit as touched
    from pg_statio_user_tables where relname = 'due_work'
""")


def disk_gb(rows: int) -> float:
    """Disk for the greatest queue, beside that of the queue before."""
    return rows * KB_A_ROW * 1.1 / 1e6


def measure(engine: Engine, database_url: str, rows: int, *, tenants: int, rounds: int) -> dict[str, Any]:
    """Fill the queue anew, and take the steps of a worker and of an event."""
    prepare(database_url, tenants=tenants, rows=rows, later_s=-rows)
    turns, numbers = Turns(), count()
    claim = partial(claimed, engine, turns, isolated=False)
    with engine.begin() as db:
        owner = ensure_tenant(db, f"events {rows}")
        looks = times_ms(rounds, lambda: look(db, list(WorkKind), isolated=True, most=4))
    enqueues = times_ms(rounds, lambda: _enqueue(engine, owner, f"new-{next(numbers)}"))
    pages = _pages(engine)
    claims = times_ms(rounds, claim)
    touched, fetched = (after - before for after, before in zip(_pages(engine), pages, strict=True))
    with engine.begin() as db:
        newcomer = ensure_tenant(db, f"newcomer {rows}")
        enqueue(Scope(db, newcomer), WorkKind.SUMMARIZE, "only")
    before = next((n for n in range(2 * tenants) if claim() == newcomer), None)
    warm = times_ms(rounds, claim)
    return {
        "rows": rows,
        "look_ms": looks[0],
        "claim_ms": claims[0],
        "enqueue_ms": enqueues[0],
        "warm_claim_ms": warm[0],
        "pages_a_claim": touched / rounds,
        "pages_fetched_a_claim": fetched / rounds,
        "pieces_before_a_newcomer": before,
        "bytes_a_row": _bytes(database_url) / rows,
    }


def _enqueue(engine: Engine, tenant_id: UUID, key: str) -> None:
    with engine.begin() as db:
        enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, key, delay_s=3_600)


def _pages(engine: Engine) -> tuple[int, int]:
    """Pages of the queue that were touched so far, and those of them that were not in memory."""
    with engine.begin() as db:
        db.execute(text("select pg_stat_force_next_flush()"))
    with engine.begin() as db:
        row = db.execute(_PAGES).one()
    return int(row.touched), int(row.fetched)


def _bytes(database_url: str) -> int:
    with psycopg.connect(database_url) as database:
        row = database.execute("select pg_total_relation_size('due_work')").fetchone()
    return int(row[0]) if row else 0


def show(found: list[dict[str, Any]], tenants: int) -> Table:
    """Show each step's time and its ratio to the time with the fewest rows."""
    table = Table(title=f"Due work of {tenants:,} tenants: medians in ms, and against the fewest rows")
    counts = ("pages_a_claim", "pages_fetched_a_claim", "pieces_before_a_newcomer", "bytes_a_row")
    for name in ("rows", *STEPS, *counts):
        table.add_column(name.replace("_", " "), justify="right")
    for row in found:
        times = [(row[f"{step}_ms"], row[f"{step}_ms"] / found[0][f"{step}_ms"]) for step in STEPS]
        table.add_row(
            f"{row['rows']:,}",
            *(f"{ms:.2f} ({ratio:.2f})" for ms, ratio in times),
            *("never" if row[name] is None else f"{row[name]:,.1f}" for name in counts),
        )
    return table


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tenants", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    needed, free = disk_gb(options.rows), shutil.disk_usage(tempfile.gettempdir()).free / 1e9
    print(f"{options.rows:,} rows need some {needed:.1f} GB of disk; {free:.1f} GB are free", flush=True)
    if needed > free:
        sys.exit("the disk is too small")
    sizes = [size for size in (FEWEST * 10**power for power in range(4)) if size < options.rows]
    with Stack(roles=SERVERS) as stack:
        engine = create_engine(stack.at.database_url, connect_args={"options": NO_DISK})
        limits = {"tenants": options.tenants, "rounds": options.rounds}
        found = [measure(engine, stack.at.database_url, size, **limits) for size in (*sizes, options.rows)]
        engine.dispose()
    Console().print(show(found, options.tenants))
    save("queue_rows", {"options": vars(options), "rows": found})


if __name__ == "__main__":
    main()
