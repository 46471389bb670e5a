"""Due work, one row at a time: what is asked for is done, once, and never lost."""

from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from models.due_work.fair_claim import QueueGroup
from models.due_work.operator import redrive
from models.due_work.queue import WorkKind, WorkState, claim, enqueue, finish, lock_lease, renew, retry_later
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.works import (
    MAX_ATTEMPTS,
    MAX_CRASHES,
    Clock,
    facts,
    in_state,
    is_due,
    row,
    take,
    take_next,
    what_is_due,
)


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "first")


@pytest.fixture
def clock(db: Connection) -> Clock:
    return Clock(db)


@pytest.fixture
def work_id(db: Connection, tenant: UUID) -> int:
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1")
    return row(db, tenant).work_id


def age_s(db: Connection, tenant: UUID, key: str = "s1") -> float:
    return float(
        db.execute(
            text("select extract(epoch from now() - due_at) from due_work where tenant_id = :t and key = :k"),
            {"t": tenant, "k": key},
        ).scalar_one()
    )


def test_ten_wishes_in_a_row_make_one_piece_of_work(db: Connection, tenant: UUID) -> None:
    for _ in range(10):
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1", delay_s=1)
    assert len(facts(db)) == 1
    assert row(db, tenant).wanted == 10


def test_the_earliest_due_time_stays(db: Connection, tenant: UUID) -> None:
    for delay_s in (5, 2, 9):
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1", delay_s=delay_s)
    assert age_s(db, tenant) == pytest.approx(-2)


def test_a_flow_of_wishes_never_pushes_the_work_away(db: Connection, tenant: UUID, clock: Clock) -> None:
    """A debounce that restarts with each event would never run in a lively conversation."""
    for _ in range(10):
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1", delay_s=1)
        clock.pass_by(0.2)
    assert age_s(db, tenant) == pytest.approx(1)


def test_work_is_not_taken_before_it_is_due(db: Connection, tenant: UUID, clock: Clock) -> None:
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1", delay_s=1)
    work_id = row(db, tenant).work_id
    assert not is_due(db)
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None
    clock.pass_by(1)
    assert is_due(db)
    assert take(db, work_id).key == "s1"


def test_work_of_another_tenant_or_session_is_another_piece(db: Connection, tenant: UUID) -> None:
    other = ensure_tenant(db, "second")
    for owner, key in ((tenant, "s1"), (tenant, "s2"), (other, "s1")):
        enqueue(Scope(db, owner), WorkKind.SUMMARIZE, key)
    assert len(facts(db)) == 3


def test_a_lease_admits_one_worker(db: Connection, work_id: int) -> None:
    take(db, work_id)
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None


def test_a_wish_while_it_runs_makes_it_ready_at_its_end(db: Connection, tenant: UUID, work_id: int) -> None:
    """Else what arrives in the middle of a summary would wait for the next turn."""
    held = take(db, work_id)
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1", delay_s=1)
    assert row(db, tenant).state == WorkState.RUNNING
    assert finish(db, held, "done")
    assert row(db, tenant).state == WorkState.READY
    assert finish(db, take(db, work_id), "done")
    assert row(db, tenant).state == WorkState.IDLE


def test_finished_work_rests_until_it_is_wanted_again(db: Connection, tenant: UUID, work_id: int) -> None:
    finish(db, take(db, work_id), "done")
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1")
    assert take(db, work_id).attempts == 1


def test_work_with_more_to_do_is_ready_at_its_end(db: Connection, tenant: UUID, work_id: int) -> None:
    assert finish(db, take(db, work_id), "a part", again_in_s=0)
    assert row(db, tenant).state == WorkState.READY
    assert is_due(db)


def test_an_attempt_is_counted_before_it_starts(db: Connection, tenant: UUID, work_id: int) -> None:
    """A worker that dies in it cannot count it afterwards."""
    take(db, work_id)
    assert (row(db, tenant).attempts, row(db, tenant).crashes) == (1, 0)


def test_a_crash_is_no_attempt_and_an_attempt_no_crash(
    db: Connection, tenant: UUID, work_id: int, clock: Clock
) -> None:
    """One counter for both would bury work whose neighbour kills the worker."""
    retry_later(db, take(db, work_id), "no", delay_s=0, max_attempts=MAX_ATTEMPTS)
    take(db, work_id)
    clock.pass_by(21)
    held = take(db, work_id)
    assert (held.attempts, held.crashes) == (2, 1)
    assert (row(db, tenant).attempts, row(db, tenant).crashes) == (2, 1)


def test_success_clears_both_counters(db: Connection, tenant: UUID, work_id: int, clock: Clock) -> None:
    take(db, work_id)
    clock.pass_by(21)
    finish(db, take(db, work_id), "done")
    after = row(db, tenant)
    assert (after.attempts, after.crashes, after.last_error) == (0, 0, None)


def test_an_expired_lease_is_claimable_once(db: Connection, work_id: int, clock: Clock) -> None:
    first = take(db, work_id)
    clock.pass_by(21)
    second = take(db, work_id)
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None
    assert not lock_lease(db, first)
    assert lock_lease(db, second)


def test_a_renewed_lease_does_not_expire(db: Connection, work_id: int, clock: Clock) -> None:
    held = take(db, work_id)
    clock.pass_by(15)
    assert renew(db, held, lease_s=20)
    clock.pass_by(15)
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None


def test_who_lost_the_lease_changes_nothing(db: Connection, work_id: int, clock: Clock) -> None:
    lost = take(db, work_id)
    clock.pass_by(21)
    take(db, work_id)
    before = facts(db)
    assert not finish(db, lost, "late")
    assert not retry_later(db, lost, "late", delay_s=9, max_attempts=1)
    assert not renew(db, lost, lease_s=99)
    assert facts(db) == before


def test_a_lease_cannot_end_work_that_it_has_ended(db: Connection, work_id: int) -> None:
    held = take(db, work_id)
    assert finish(db, held, "done")
    before = facts(db)
    assert not finish(db, held, "done twice")
    assert not retry_later(db, held, "no", delay_s=1)
    assert facts(db) == before


def test_work_that_kills_its_workers_is_dead_after_a_few(
    db: Connection, tenant: UUID, work_id: int, clock: Clock
) -> None:
    """A poison row must not kill workers for ever."""
    for _ in range(MAX_CRASHES):
        take(db, work_id)
        clock.pass_by(21)
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None
    dead = row(db, tenant)
    assert (dead.state, dead.crashes, dead.lease) == (WorkState.DEAD, MAX_CRASHES, None)
    assert "died" in str(dead.last_error)
    assert not is_due(db)


def test_work_that_fails_by_itself_is_dead_after_some_attempts(
    db: Connection, tenant: UUID, work_id: int
) -> None:
    for _ in range(MAX_ATTEMPTS):
        assert row(db, tenant).state == WorkState.READY
        retry_later(db, take(db, work_id), "bad input", delay_s=0, max_attempts=MAX_ATTEMPTS)
    dead = row(db, tenant)
    assert (dead.state, dead.attempts, dead.last_error) == (WorkState.DEAD, MAX_ATTEMPTS, "bad input")


def test_an_outage_puts_work_off_and_never_kills_it(db: Connection, tenant: UUID, work_id: int) -> None:
    for _ in range(3 * MAX_ATTEMPTS):
        retry_later(db, take(db, work_id), "provider is down", delay_s=0)
    assert row(db, tenant).state == WorkState.READY
    assert row(db, tenant).attempts == 0


def test_work_that_was_put_off_waits_as_long_as_it_should(
    db: Connection, tenant: UUID, work_id: int, clock: Clock
) -> None:
    """New turns must not make a denied or parked call spin."""
    retry_later(db, take(db, work_id), "over the cap", delay_s=60)
    for _ in range(5):
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1", delay_s=1)
        clock.pass_by(5)
    assert not is_due(db)
    clock.pass_by(35)
    assert is_due(db)


def test_dead_work_that_is_wanted_again_is_tried_once_more_when_it_has_rested(
    db: Connection, tenant: UUID, work_id: int, clock: Clock
) -> None:
    """The fault may be over; and if it is not, each new wish costs one try, and no more."""
    scope = Scope(db, tenant)
    for _ in range(MAX_ATTEMPTS):
        retry_later(db, take(db, work_id), "bad input", delay_s=0, max_attempts=MAX_ATTEMPTS, rest_s=900)
    assert [work.last_error for work in in_state(db, tenant, WorkState.DEAD)] == ["bad input"]
    for _ in range(3):
        enqueue(scope, WorkKind.SUMMARIZE, "s1", awaited=True)
        assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None
    assert (row(db, tenant).state, row(db, tenant).wanted) == (WorkState.READY, 4)
    clock.pass_by(901)
    held = take(db, work_id)
    assert (held.attempts, held.crashes) == (MAX_ATTEMPTS, 0)
    assert retry_later(db, held, "bad input", delay_s=0, max_attempts=MAX_ATTEMPTS, rest_s=900)
    assert row(db, tenant).state == WorkState.DEAD
    enqueue(scope, WorkKind.SUMMARIZE, "s1")
    clock.pass_by(901)
    assert finish(db, take(db, work_id), "done")
    assert (row(db, tenant).state, row(db, tenant).attempts) == (WorkState.IDLE, 0)


def test_work_that_killed_its_workers_gets_one_more_and_apart_from_the_others(
    db: Connection, tenant: UUID, work_id: int, clock: Clock
) -> None:
    for _ in range(MAX_CRASHES):
        take(db, work_id)
        clock.pass_by(21)
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1")
    assert list(what_is_due(db).pieces) == [QueueGroup(None)]
    assert take(db, work_id).crashes == MAX_CRASHES - 1
    clock.pass_by(21)
    assert claim(db, work_id, lease_s=20, max_crashes=MAX_CRASHES) is None
    assert row(db, tenant).state == WorkState.DEAD


def test_dead_work_can_be_given_another_life(db: Connection, tenant: UUID, work_id: int) -> None:
    retry_later(db, take(db, work_id), "bad input", delay_s=600, max_attempts=1)
    assert redrive(db, tenant) == 1
    held = take(db, work_id)
    assert (held.attempts, held.crashes) == (1, 0)
    assert finish(db, held, "done")


def test_only_the_named_dead_work_of_the_own_tenant_is_redriven(db: Connection, tenant: UUID) -> None:
    other = ensure_tenant(db, "second")
    for owner, key in ((tenant, "s1"), (tenant, "s2"), (other, "s1")):
        enqueue(Scope(db, owner), WorkKind.SUMMARIZE, key)
        retry_later(db, take(db, row(db, owner, key).work_id), "no", delay_s=0, max_attempts=1)
    named = row(db, tenant).work_id
    assert redrive(db, other, [named]) == 0
    assert redrive(db, tenant, [named]) == 1
    assert [work.key for work in in_state(db, tenant, WorkState.DEAD)] == ["s2"]


def test_work_of_a_dead_worker_is_due_in_isolation(db: Connection, work_id: int, clock: Clock) -> None:
    """It may kill the next one too; its neighbours must not pay for it."""
    take(db, work_id)
    assert not is_due(db)
    clock.pass_by(21)
    assert what_is_due(db).pieces == {QueueGroup(None): 1}
    retry_later(db, take(db, work_id), "no", delay_s=0)
    assert what_is_due(db).pieces == {QueueGroup(None): 1}


def test_awaited_work_goes_first(db: Connection, tenant: UUID) -> None:
    for key in ("s1", "s2", "s3"):
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, key, awaited=key == "s3")
    held = take_next(db)
    assert held is not None
    assert held.key == "s3"


def test_a_kind_of_newer_code_does_not_stop_the_rest(db: Connection, tenant: UUID, work_id: int) -> None:
    db.execute(
        text(
            "insert into due_work (tenant_id, kind, key, state, due_at) values (:t, 'future', 'x', 'ready', "
            "now() - interval '1 hour')"
        ),
        {"t": tenant},
    )
    held = take_next(db)
    assert held is not None
    assert (held.work_id, is_due(db)) == (work_id, False)
