"""Due work when many reach for it at once, and when there is a lot of it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, event, text

from models import database as session
from models.due_work.fair_claim import Turns, look
from models.due_work.queue import Claim, WorkKind, WorkState, claim, enqueue
from models.scope import Scope
from tests.integration.works import MAX_CRASHES, in_state, take_next

MANY = 50_000


@pytest.fixture
def committed(tenant_id: UUID) -> list[int]:
    """Thirty pieces of due work that every connection sees."""
    with session.transaction() as db:
        for number in range(30):
            enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, f"s{number}")
        ids = [work.work_id for work in in_state(db, tenant_id, WorkState.READY)]
    return sorted(ids)


def test_of_many_workers_at_once_one_gets_the_lease(committed: list[int]) -> None:
    gate = Barrier(8)

    def race(work_id: int) -> Claim | None:
        gate.wait()
        with session.transaction() as db:
            return claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES)

    with ThreadPoolExecutor(8) as pool:
        for work_id in committed[:10]:
            winners = [held for held in pool.map(race, [work_id] * 8) if held]
            assert len(winners) == 1


def test_of_many_workers_at_once_one_gets_an_expired_lease(committed: list[int], empty_db: Engine) -> None:
    gate = Barrier(8)

    def race(work_id: int) -> Claim | None:
        gate.wait()
        with session.transaction() as db:
            return claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES)

    with empty_db.begin() as db:
        db.execute(
            text("update due_work set state = 'running', lease = :l, lease_until = now() - interval '1 s'"),
            {"l": uuid4()},
        )
    with ThreadPoolExecutor(8) as pool:
        for work_id in committed[:10]:
            winners = [held for held in pool.map(race, [work_id] * 8) if held]
            assert [held.crashes for held in winners] == [1]


def test_workers_at_once_take_each_row_once_and_never_wait(committed: list[int]) -> None:
    """Both transactions are open: the second skips what the first has locked."""
    with session.transaction() as one, session.transaction() as two:
        taken = [held for db in (one, two) * 15 if (held := take_next(db))]
        assert take_next(one) is None
    assert sorted(held.work_id for held in taken) == committed


def test_of_many_workers_each_takes_other_work(committed: list[int]) -> None:
    """They begin at the same moment, at the same head of the same queue."""
    gate = Barrier(8)

    def work(_: int) -> list[int]:
        turns, taken = Turns(), list[int]()
        gate.wait()
        while True:
            with session.transaction() as db:
                held = take_next(db, turns)
            if held is None:
                return taken
            taken.append(held.work_id)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(work_id for taken in pool.map(work, range(8)) for work_id in taken) == committed


@pytest.fixture
def crowded(empty_db: Engine, tenant_id: UUID) -> Engine:
    """Fifty thousand rows: most at rest, a tenth waiting for its time, a hundred due."""
    with empty_db.begin() as db:
        db.execute(
            text(
                "insert into due_work (tenant_id, kind, key, state, due_at) "
                "select :t, 'summarize', 's' || n, case when n % 10 = 0 then 'ready' else 'idle' end, "
                "now() + make_interval(secs => case when n % 500 = 0 then -5 else 3600 end) "
                "from generate_series(1, :n) n"
            ),
            {"t": tenant_id, "n": MANY},
        )
    with empty_db.connect() as plain:
        plain.execution_options(isolation_level="AUTOCOMMIT").execute(text("vacuum analyze due_work"))
    return empty_db


@contextmanager
def explained(db: Connection) -> Iterator[list[str]]:
    """Collect the plans of the statements on due work that run inside."""
    statements: list[tuple[str, Any]] = []
    plans: list[str] = []

    def note(_db: Any, _cursor: Any, statement: str, values: Any, _context: Any, _many: bool) -> None:
        if "due_work" in statement:
            statements.append((statement, values))

    event.listen(db, "before_cursor_execute", note)
    try:
        yield plans
    finally:
        event.remove(db, "before_cursor_execute", note)
    for statement, values in statements:
        plan = db.exec_driver_sql("explain " + statement, values)
        plans.append("\n".join(line for (line,) in plan))


def test_what_is_due_is_found_by_its_index_among_very_many(crowded: Engine) -> None:
    with crowded.begin() as db:
        with explained(db) as plans:
            due = look(db, list(WorkKind), isolated=True, most=64)
        [plan] = plans
    assert sum(due.pieces.values()) == 64
    assert "ix_due_work_queue" in plan
    assert "ix_due_work_isolated" in plan
    assert "(kind = known.kind)" in plan
    assert "(due_at <= now()))" in plan
    assert "Seq Scan" not in plan


def test_the_next_piece_is_found_by_its_indexes_among_very_many(crowded: Engine) -> None:
    with crowded.begin() as db:
        with explained(db) as plans:
            assert take_next(db)
        _look, tenant, lease = plans
    assert tenant.count("ix_due_work_turns") == 2
    assert "ix_due_work_turns" in lease
    assert not any("Seq Scan" in plan for plan in plans)


def test_a_claim_finds_its_row_by_its_id_among_very_many(crowded: Engine) -> None:
    with crowded.begin() as db:
        with explained(db) as plans:
            claim(db, 1, lease_s=20, max_crashes=MAX_CRASHES)
        [plan] = plans
    assert "uq_due_work_work_id" in plan
    assert "Seq Scan" not in plan


def test_a_plan_made_once_for_all_calls_knows_the_index_too(crowded: Engine) -> None:
    """The driver prepares what runs often; a state that comes as a parameter hides the partial index."""
    with crowded.begin() as db:
        db.execute(text("set local plan_cache_mode = force_generic_plan"))
        for _ in range(10):
            assert take_next(db)
        scans = db.execute(
            text("select seq_scan from pg_stat_xact_user_tables where relname = 'due_work'")
        ).scalar_one()
    assert scans == 0
