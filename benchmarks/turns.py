"""Measure what a fair claim costs by the number of tenants, and how long a single piece waits behind others.

python -m benchmarks.turns [--rows 20000] [--rounds 100]

Two shapes: every tenant has due work; and none has but one, while all others have only work that is not due
yet, which a claim must pass over. Each number is of one connection; the commit waits for no disk.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any
from uuid import UUID

import psycopg
from rich.console import Console
from rich.table import Table
from sqlalchemy import Engine, create_engine

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from benchmarks.report import save
from models.due_work.fair_claim import Turns, claim_next, look
from models.due_work.queue import WorkKind, enqueue
from models.scope import Scope
from models.tenants.tenant import ensure_tenant

NO_DISK = "-c synchronous_commit=off"
TENANTS = (1, 100, 10_000)
MOST_PIECES = 300
"""So many claims are made to see when a newcomer's only piece comes; of more tenants, a round is longer."""

_FILL = """
with new as (
    insert into tenant (tenant_id, name)
    select gen_random_uuid(), %(name)s || n from generate_series(1, %(tenants)s::int) as n returning tenant_id
), numbered as (select tenant_id, row_number() over () as number from new)
insert into due_work (tenant_id, kind, key, state, due_at)
select tenant_id, 'summarize', 's' || n, 'ready',
    now() + make_interval(secs => n * 0.001 + %(later_s)s::int)
from numbered join generate_series(1, %(rows)s::int) as n on n %% %(tenants)s::int = number - 1
"""


def prepare(database_url: str, *, tenants: int, rows: int, later_s: int) -> None:
    """Begin anew with so many rows, spread over so many tenants, due so much later than now."""
    with psycopg.connect(database_url, autocommit=True) as database:
        database.execute("truncate due_work")
        database.execute(
            _FILL.encode(), {"tenants": tenants, "rows": rows, "later_s": later_s, "name": f"{time.time()} "}
        )
        database.execute("vacuum analyze due_work")


def times_ms(rounds: int, once: Callable[[], Any]) -> tuple[float, float]:
    """The median and the 95th of a hundred."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        once()
        taken.append((time.perf_counter() - began) * 1_000)
    return median(taken), quantiles(taken, n=20)[-1]


def claimed(engine: Engine, turns: Turns, *, isolated: bool = True) -> UUID | None:
    """Take one piece, as a worker does. Returns whose it was."""
    with engine.begin() as db:
        held = claim_next(db, list(WorkKind), turns, isolated=isolated, lease_s=3_600, max_crashes=3).held
    return held.tenant_id if held else None


def measure(engine: Engine, database_url: str, tenants: int, *, rows: int, rounds: int) -> dict[str, Any]:
    """What looks and claims cost, and how many pieces come before a newcomer's only one."""
    prepare(database_url, tenants=tenants, rows=rows, later_s=-3_600)
    turns = Turns()
    with engine.begin() as db:
        due_ms = times_ms(rounds, lambda: look(db, list(WorkKind), isolated=True, most=4))
    claim_ms = times_ms(rounds, lambda: claimed(engine, turns))
    with engine.begin() as db:
        newcomer = ensure_tenant(db, f"newcomer {tenants}")
        enqueue(Scope(db, newcomer), WorkKind.SUMMARIZE, "only")
    before = next((n for n in range(MOST_PIECES) if claimed(engine, turns) == newcomer), None)
    prepare(database_url, tenants=tenants, rows=rows, later_s=3_600)
    with engine.begin() as db:
        lone = ensure_tenant(db, f"lone {tenants}")
        for number in range(rounds):
            enqueue(Scope(db, lone), WorkKind.SUMMARIZE, f"s{number}")
    waiting_ms = times_ms(rounds, lambda: claimed(engine, turns))
    return {
        "tenants": tenants,
        "rows": rows,
        "look_ms": due_ms,
        "claim_ms": claim_ms,
        "claim_past_waiting_ms": waiting_ms,
        "pieces_before_a_newcomer": before,
    }


def main() -> None:
    """Print the table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    with Stack(roles=SERVERS) as stack:
        engine = create_engine(stack.at.database_url, connect_args={"options": NO_DISK})
        found = [
            measure(engine, stack.at.database_url, tenants, rows=options.rows, rounds=options.rounds)
            for tenants in TENANTS
        ]
        engine.dispose()
    table = Table(
        "tenants", "look, ms", "claim, ms", "claim past waiting tenants, ms", "pieces before a newcomer's"
    )
    for row in found:
        cells = ("look_ms", "claim_ms", "claim_past_waiting_ms")
        times = [f"{row[name][0]:.2f} (p95 {row[name][1]:.2f})" for name in cells]
        table.add_row(
            f"{row['tenants']:,}",
            *times,
            str(
                before
                if (before := row["pieces_before_a_newcomer"]) is not None
                else f"{MOST_PIECES} or more"
            ),
        )
    Console().print(table)
    save("turns", {"options": vars(options), "rows": found})


if __name__ == "__main__":
    main()
