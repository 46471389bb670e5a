"""Which due work is hinted at: the head of every queue, and no more than somebody may take in time."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, text

from models.hints import Hint, take_hints
from models.tenant import ensure_tenant
from models.work import WorkKind, claim, want
from tests.integration.works import MAX_CRASHES, Clock, row

MANY = 50_000
FILL = text(
    "insert into due_work (tenant_id, kind, key, state, due_at) select :t, 'summarize', 's' || n, 'ready', "
    "now() - make_interval(secs => n) from generate_series(1, :n) n"
)


READ = text(
    "select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables "
    "where relname = 'due_work'"
)


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "first")


@pytest.fixture
def backlog(db: Connection, tenant: UUID) -> Connection:
    """Twenty summaries that have been due for long."""
    db.execute(FILL, {"t": tenant, "n": 20})
    return db


def kinds(hints: list[Hint]) -> Counter[WorkKind]:
    return Counter(hint.kind for hint in hints)


def test_a_backlog_of_one_kind_does_not_hold_up_another(backlog: Connection, tenant: UUID) -> None:
    """Its queue is served by other workers; it must not wait for those that have too much to do."""
    want(backlog, tenant, WorkKind.RECALL, "s1")
    first = take_hints(backlog, limit=4, hint_lifetime_s=5)
    assert kinds(first) == {WorkKind.SUMMARIZE: 3, WorkKind.RECALL: 1}


def test_what_is_awaited_goes_before_all_else(backlog: Connection, tenant: UUID) -> None:
    want(backlog, tenant, WorkKind.PLAN, "p1", awaited=True)
    [hint] = take_hints(backlog, limit=1, hint_lifetime_s=5)
    assert hint.kind == WorkKind.PLAN


@pytest.mark.parametrize("ahead", [1, 19, 20, 21])
def test_no_more_hints_of_a_kind_count_at_a_time_than_are_wanted(backlog: Connection, ahead: int) -> None:
    """Hints that outnumber the workers expire in the broker's queue, and each worker finds dead ones only."""
    taken = [take_hints(backlog, limit=7, hint_lifetime_s=5, ahead=ahead) for _ in range(5)]
    assert sum(map(len, taken)) == min(ahead, 20)


def test_a_claim_makes_room_for_the_next_hint(backlog: Connection) -> None:
    [first] = take_hints(backlog, limit=9, hint_lifetime_s=5, ahead=1)
    assert claim(backlog, first.work_id, lease_s=20, max_crashes=MAX_CRASHES)
    [second] = take_hints(backlog, limit=9, hint_lifetime_s=5, ahead=1)
    assert second.work_id != first.work_id


def test_a_hint_that_is_over_by_the_databases_clock_leads_to_nothing(db: Connection, tenant: UUID) -> None:
    """Else hints that were left in the broker keep workers from what is awaited now."""
    want(db, tenant, WorkKind.SUMMARIZE, "s1")
    [hint] = take_hints(db, limit=1, hint_lifetime_s=5)
    Clock(db).pass_by(6)
    assert hint.until is not None
    late = hint.until - timedelta(seconds=6)
    assert claim(db, hint.work_id, lease_s=20, max_crashes=MAX_CRASHES, until=late) is None
    assert claim(db, hint.work_id, lease_s=20, max_crashes=MAX_CRASHES, until=hint.until)


def test_a_hint_that_nobody_took_is_sent_again_before_those_behind_it(db: Connection, tenant: UUID) -> None:
    for key in ("s1", "s2"):
        want(db, tenant, WorkKind.SUMMARIZE, key)
        Clock(db).pass_by(1)
    [first] = take_hints(db, limit=9, hint_lifetime_s=5, ahead=1)
    Clock(db).pass_by(5)
    assert [one.work_id for one in take_hints(db, limit=9, hint_lifetime_s=5, ahead=1)] == [first.work_id]


def test_work_that_killed_workers_holds_up_no_other_work_of_its_kind(
    backlog: Connection, tenant: UUID
) -> None:
    """One process alone serves it: a crowd of it at the head of the common queue would block that."""
    backlog.execute(text("update due_work set crashes = 1"))
    want(backlog, tenant, WorkKind.SUMMARIZE, "healthy")
    hints = take_hints(backlog, limit=9, hint_lifetime_s=5, ahead=3)
    assert sorted(hint.isolated for hint in hints) == [False, True, True, True]
    assert row(backlog, tenant, "healthy").work_id in {hint.work_id for hint in hints if not hint.isolated}


def test_a_lost_lease_is_hinted_at_beside_a_full_queue(backlog: Connection, tenant: UUID) -> None:
    want(backlog, tenant, WorkKind.SUMMARIZE, "lost")
    backlog.execute(
        text(
            "update due_work set state = 'running', lease = :l, lease_until = now() - interval '1 s' "
            "where key = 'lost'"
        ),
        {"l": uuid4()},
    )
    hints = take_hints(backlog, limit=9, hint_lifetime_s=5, ahead=3)
    assert [hint.work_id for hint in hints if hint.isolated] == [row(backlog, tenant, "lost").work_id]


@pytest.fixture
def swamped(empty_db: Engine, tenant_id: UUID) -> Iterator[Connection]:
    """Fifty thousand pieces of one kind that are all due."""
    with empty_db.begin() as db:
        db.execute(FILL, {"t": tenant_id, "n": MANY})
    with empty_db.connect() as plain:
        plain.execution_options(isolation_level="AUTOCOMMIT").execute(text("vacuum analyze due_work"))
    with empty_db.begin() as db:
        yield db


def test_a_look_reads_no_more_than_the_heads_of_queues(swamped: Connection) -> None:
    """Sorting all that is due would take a second at a million pieces, four times a second."""
    before = swamped.execute(READ).scalar_one()
    assert len(take_hints(swamped, limit=64, hint_lifetime_s=5)) == 64
    assert swamped.execute(READ).scalar_one() - before < 1_000
