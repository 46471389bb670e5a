"""The next piece of due work: fairly by tenant and kind, the awaited first, and never all of a queue read."""

from collections import Counter
from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, text

from models.due_work.fair_claim import MOST_STEPS, PLAIN_EVERY, QueueGroup, Turns, find_shares
from models.due_work.queue import Claim, WorkKind, enqueue
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.works import Clock, row, take_next, what_is_due

MANY = 50_000
FILL = text(
    "insert into due_work (tenant_id, kind, key, state, due_at, awaited) "
    "select :t, 'summarize', 's' || n, 'ready', "
    "now() - make_interval(secs => n) + make_interval(secs => :later_s), :awaited "
    "from generate_series(1, :n) n"
)
READ = text(
    "select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables "
    "where relname = 'due_work'"
)


def fill(db: Connection, tenant: UUID, pieces: int, *, awaited: bool = False, later_s: int = 0) -> None:
    """Summaries of a tenant, one due for a second, one for two, and so on; all of them so much later."""
    db.execute(FILL, {"t": tenant, "n": pieces, "awaited": awaited, "later_s": later_s})


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "first")


@pytest.fixture
def other(db: Connection) -> UUID:
    return ensure_tenant(db, "second")


@pytest.fixture
def backlog(db: Connection, tenant: UUID) -> Connection:
    """Twenty summaries that have been due for long."""
    fill(db, tenant, 20)
    return db


def taken(db: Connection, number: int, turns: Turns | None = None) -> list[Claim]:
    """So many pieces as one worker process takes them, one after another."""
    turns = turns or Turns()
    found = [take_next(db, turns) for _ in range(number)]
    return [held for held in found if held]


def test_of_one_tenant_what_has_been_due_for_longest_comes_first(backlog: Connection) -> None:
    assert [held.key for held in taken(backlog, 3)] == ["s20", "s19", "s18"]


def test_one_tenants_backlog_delays_anothers_single_piece_by_one(backlog: Connection, other: UUID) -> None:
    enqueue(Scope(backlog, other), WorkKind.SUMMARIZE, "single")
    assert "single" in [held.key for held in taken(backlog, 2)]


def test_tenants_take_turns_whatever_each_has_waiting(backlog: Connection, other: UUID) -> None:
    fill(backlog, other, 5)
    third = ensure_tenant(backlog, "third")
    fill(backlog, third, 5)
    assert set(Counter(held.tenant_id for held in taken(backlog, 15)).values()) == {5}


@pytest.mark.parametrize("share", [1, 2, 3])
def test_a_tenant_with_a_larger_share_gets_as_many_pieces_in_its_turn(
    backlog: Connection, tenant: UUID, other: UUID, share: int
) -> None:
    fill(backlog, other, 20)
    shares = find_shares(backlog, {"first": share, "nobody": 9})
    assert shares == {tenant: share}
    done = Counter(held.tenant_id for held in taken(backlog, 4 * (share + 1), Turns(shares=shares)))
    assert done == {tenant: 4 * share, other: 4}


def test_a_turn_ends_with_the_work_of_its_tenant(db: Connection, tenant: UUID, other: UUID) -> None:
    fill(db, tenant, 2)
    fill(db, other, 2)
    done = taken(db, 9, Turns(shares={tenant: 5}))
    assert len({held.work_id for held in done}) == len(done) == 4


def test_every_process_goes_round_by_itself_and_all_is_done_once(backlog: Connection, other: UUID) -> None:
    fill(backlog, other, 10)
    processes = [Turns(), Turns(), Turns()]
    done = [held for _ in range(11) for turns in processes if (held := take_next(backlog, turns))]
    assert len({held.work_id for held in done}) == len(done) == 30


def test_a_backlog_of_one_kind_does_not_hold_up_another(backlog: Connection, tenant: UUID) -> None:
    enqueue(Scope(backlog, tenant), WorkKind.RECALL, "s1")
    assert WorkKind.RECALL in [held.kind for held in taken(backlog, 2)]


def test_a_worker_of_one_queue_takes_nothing_of_another(backlog: Connection) -> None:
    assert take_next(backlog, kinds=[WorkKind.PLAN]) is None


def test_what_is_awaited_goes_before_all_else(backlog: Connection, tenant: UUID) -> None:
    enqueue(Scope(backlog, tenant), WorkKind.PLAN, "p1", awaited=True)
    [held] = taken(backlog, 1)
    assert held.kind == WorkKind.PLAN


def test_one_tenants_awaited_work_starves_neither_anothers_awaited_work_nor_the_rest(
    backlog: Connection, other: UUID
) -> None:
    scope = Scope(backlog, other)
    backlog.execute(text("update due_work set awaited = true"))
    enqueue(scope, WorkKind.SUMMARIZE, "awaited", awaited=True)
    enqueue(scope, WorkKind.SUMMARIZE, "plain")
    keys = [held.key for held in taken(backlog, PLAIN_EVERY)]
    assert {"awaited", "plain"} < set(keys)
    assert keys.index("awaited") <= 1


def test_work_that_killed_workers_holds_up_no_other_work_of_its_kind(
    backlog: Connection, tenant: UUID
) -> None:
    """Another process serves it: a crowd of it at the head of the common queue would block that."""
    backlog.execute(text("update due_work set crashes = 1"))
    enqueue(Scope(backlog, tenant), WorkKind.SUMMARIZE, "healthy")
    assert what_is_due(backlog, most=9).pieces == {QueueGroup(None): 9, QueueGroup(WorkKind.SUMMARIZE): 1}
    assert row(backlog, tenant, "healthy").work_id in [held.work_id for held in taken(backlog, 2)]


def test_a_lost_lease_is_found_beside_a_full_queue(backlog: Connection, tenant: UUID) -> None:
    enqueue(Scope(backlog, tenant), WorkKind.SUMMARIZE, "lost")
    backlog.execute(
        text(
            "update due_work set state = 'running', lease = :l, lease_until = now() - interval '1 s' "
            "where key = 'lost'"
        ),
        {"l": uuid4()},
    )
    assert what_is_due(backlog).pieces[QueueGroup(None)] == 1
    assert "lost" in [held.key for held in taken(backlog, 2)]


def test_nothing_is_taken_before_it_is_due(db: Connection, tenant: UUID, other: UUID) -> None:
    """Of the tenant whose turn it is nothing is due yet: the next one is served."""
    fill(db, tenant, 5, later_s=15)
    enqueue(Scope(db, other), WorkKind.SUMMARIZE, "due")
    turns = Turns()
    assert [held.key for held in taken(db, 9, turns)] == ["due"]
    Clock(db).pass_by(15)
    assert len(taken(db, 9, turns)) == 5


@pytest.mark.parametrize("waiting", [MOST_STEPS - 1, MOST_STEPS, MOST_STEPS + 1, 3 * MOST_STEPS])
def test_what_is_due_is_found_behind_any_number_of_tenants_that_wait(db: Connection, waiting: int) -> None:
    db.execute(
        text(
            "with new as (insert into tenant (tenant_id, name) "
            "select gen_random_uuid(), 'waiting ' || n from generate_series(1, :n) n returning tenant_id) "
            "insert into due_work (tenant_id, kind, key, state, due_at) "
            "select tenant_id, 'summarize', 's', 'ready', now() + interval '1 hour' from new"
        ),
        {"n": waiting},
    )
    owner = ensure_tenant(db, "owner")
    fill(db, owner, 3)
    assert [held.tenant_id for held in taken(db, 9)] == [owner] * 3


@pytest.fixture
def swamped(empty_db: Engine, tenant_id: UUID) -> Iterator[Connection]:
    """Fifty thousand pieces of one kind that are all due."""
    with empty_db.begin() as db:
        fill(db, tenant_id, MANY)
    with empty_db.connect() as plain:
        plain.execution_options(isolation_level="AUTOCOMMIT").execute(text("vacuum analyze due_work"))
    with empty_db.begin() as db:
        yield db


def test_looks_and_claims_read_no_more_than_the_heads_of_queues(swamped: Connection) -> None:
    """Sorting all that is due would take a second at a million pieces.

    A tenant that the planner never saw is found as fast.
    """
    newcomer = ensure_tenant(swamped, "newcomer")
    enqueue(Scope(swamped, newcomer), WorkKind.SUMMARIZE, "single")
    before = swamped.execute(READ).scalar_one()
    assert what_is_due(swamped, most=4).pieces == {QueueGroup(WorkKind.SUMMARIZE): 4}
    assert newcomer in [held.tenant_id for held in taken(swamped, 4)]
    assert swamped.execute(READ).scalar_one() - before < 200
