"""What the queue costs with little and with very much due: looks, claims, wishes, what operators watch."""

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from afterturn.stack.stack import Stack
from benchmarks.scaling.meter import median_ms

ROUNDS = 30
SENT_S = 3.0

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
        look_ms: The dispatcher's statement that picks 64.
        idle_look_ms: The same, when all that counts was hinted at already.
        claim_ms: A worker's claim and its commit.
        want_ms: A wish and its commit.
        watch_ms: What operators watch, read once.
        hints_per_s: Hints that one dispatcher sends, broker included.
        kb: What a piece of due work weighs, with its indexes.
    """

    due: int
    look_ms: float
    idle_look_ms: float
    claim_ms: float
    want_ms: float
    watch_ms: float
    hints_per_s: float
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
    from models.hints import take_hints  # noqa: PLC0415
    from models.metrics import take_snapshot  # noqa: PLC0415
    from models.session import engine, reading, transaction  # noqa: PLC0415
    from models.work import WorkKind, claim, want  # noqa: PLC0415

    def look() -> None:
        with engine().connect() as db:
            take_hints(db, limit=64, hint_lifetime_s=5)
            db.rollback()

    def look_in_vain() -> None:
        with transaction() as db:
            take_hints(db, limit=64, hint_lifetime_s=60, ahead=64)

    ids = database.execute("select work_id from due_work order by due_at desc limit %s", (ROUNDS,)).fetchall()
    works = iter([int(work_id) for (work_id,) in ids])

    def claim_one() -> None:
        with transaction() as db:
            claim(db, next(works), lease_s=3600, max_crashes=3)

    keys = iter(range(ROUNDS))

    def want_one() -> None:
        with transaction() as db:
            want(db, tenant_id, WorkKind.SUMMARIZE, f"new {size} {next(keys)}", delay_s=3600)

    def watch() -> None:
        with reading() as db:
            take_snapshot(db, now=datetime.now(UTC))

    look_ms, want_ms, claim_ms = (median_ms(ROUNDS, once) for once in (look, want_one, claim_one))
    watch_ms = median_ms(3, watch)
    hints_per_s = _hints_per_s()
    database.execute("update due_work set hinted_until = null where hinted_until is not null")
    for _ in range(8):
        look_in_vain()
    idle_ms = median_ms(ROUNDS, look_in_vain)
    database.execute("update due_work set hinted_until = null where hinted_until is not null")
    weight = database.execute("select pg_total_relation_size('due_work') / 1024.0 / count(*) from due_work")
    kb = weight.fetchone()
    return QueueCost(
        size, look_ms, idle_ms, claim_ms, want_ms, watch_ms, hints_per_s, float(kb[0]) if kb else 0.0
    )


def _hints_per_s() -> float:
    """Send for some seconds as the dispatcher does when a look finds as much as it may send."""
    from workers.app import app  # noqa: PLC0415
    from workers.dispatch import dispatch_once, hint_sender  # noqa: PLC0415
    from workers.settings import WorkerSettings  # noqa: PLC0415

    # They expire at once, so that the next look finds the same heads of queues again.
    settings = WorkerSettings(hint_lifetime_s=0.001)
    send = hint_sender(app, settings)
    sent, began = 0, time.monotonic()
    while (took := time.monotonic() - began) < SENT_S:
        sent += dispatch_once(send, settings)
    return sent / took
