"""What the queue costs with little and with very much due: looks, claims, wishes, what operators watch."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from afterturn.stack.stack import Stack
from benchmarks.scaling.meter import median_ms
from models.scope import Scope

ROUNDS = 30

_FILL = """
    insert into due_work (tenant_id, kind, key, state, due_at)
    select %s, (array['summarize', 'artifact', 'recall', 'plan'])[1 + n %% 4], 's' || n, 'ready',
        now() - make_interval(secs => n * 0.001)
    from generate_series(%s::int, %s::int) as n
"""


@dataclass(frozen=True)
class QueueCost:
    """Milliseconds of each step of the queue with so much work due.

    Attributes:
        due: Pieces of work that are due.
        look_ms: The dispatcher's statement that says for which queues to ring.
        claim_ms: A worker's claim of the next piece in turns, and its commit.
        want_ms: A wish and its commit.
        watch_ms: What operators watch, read once.
        kb: What a piece of due work weighs, with its indexes.
    """

    due: int
    look_ms: float
    claim_ms: float
    want_ms: float
    watch_ms: float
    kb: float

    def to_json(self) -> dict[str, Any]:
        """For the results."""
        return asdict(self)


def measure_queue(stack: Stack, sizes: list[int]) -> list[QueueCost]:
    """Fill the queue up to each size in turn, and measure there."""
    found, there = [], 0
    with psycopg.connect(stack.at.database_url, autocommit=True) as database:
        database.execute("truncate due_work")
        row = database.execute("select tenant_id from tenant order by created_at limit 1").fetchone()
        tenant_id: UUID = row[0] if row else UUID(int=0)
        for size in sizes:
            database.execute(_FILL.encode(), (tenant_id, there + 1, size))
            database.execute("vacuum analyze due_work")
            there = size
            found.append(_measure(database, tenant_id, size))
        database.execute("truncate due_work")
    return found


def _measure(database: psycopg.Connection, tenant_id: UUID, size: int) -> QueueCost:
    from models.database import read_transaction, transaction  # noqa: PLC0415
    from models.due_work.fair_claim import Turns, claim_next, look  # noqa: PLC0415
    from models.due_work.queue import WorkKind, enqueue  # noqa: PLC0415
    from models.snapshot import take_snapshot  # noqa: PLC0415

    def look_once() -> None:
        with read_transaction() as db:
            look(db, list(WorkKind), isolated=True, most=4)

    turns = Turns()

    def claim_one() -> None:
        with transaction() as db:
            claim_next(db, list(WorkKind), turns, isolated=True, lease_s=3600, max_crashes=3)

    keys = iter(range(ROUNDS))

    def want_one() -> None:
        with Scope.write(tenant_id) as scope:
            enqueue(scope, WorkKind.SUMMARIZE, f"new {size} {next(keys)}", delay_s=3600)

    def watch() -> None:
        with read_transaction() as db:
            take_snapshot(db, now=datetime.now(UTC))

    look_ms, want_ms, claim_ms = (median_ms(ROUNDS, once) for once in (look_once, want_one, claim_one))
    watch_ms = median_ms(3, watch)
    weight = database.execute("select pg_total_relation_size('due_work') / 1024.0 / count(*) from due_work")
    kb = weight.fetchone()
    return QueueCost(size, look_ms, claim_ms, want_ms, watch_ms, float(kb[0]) if kb else 0.0)
