"""The life of a piece of work after it was found due: claimed, renewed, ended, tried again or given up."""

import errno
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError

from llm.failures import Cause, LlmFailure
from models import database as session
from models.due_work.queue import Claim, WorkKind, WorkState, finish
from models.ledger.caps import BudgetDeniedError, Denial
from tests.integration.works import QUICK, commit_work, make_due, state
from workers.jobs.lifecycle import LEASE_LOST, NOT_DUE, Handler, backoff_s, run_work
from workers.settings import WorkerSettings

LASTING = QUICK.model_copy(update={"lease_s": 3.0})
"""A busy machine renews it late."""

PATIENT = QUICK.model_copy(update={"backoff_s": 20.0})
"""A busy machine looks late at how long is still to wait."""


@pytest.fixture
def work_id(tenant_id: UUID) -> int:
    return commit_work(tenant_id)


def wait_s(tenant_id: UUID) -> float:
    with session.read_transaction() as db:
        now = db.execute(text("select now()")).scalar_one()
    return float((state(tenant_id).due_at - now).total_seconds())


def do(work_id: int, handler: Handler, settings: WorkerSettings = QUICK) -> str:
    return run_work(work_id, {WorkKind.SUMMARIZE: handler}, settings)


def done(held: Claim) -> str:
    with session.transaction() as db:
        assert finish(db, held, "done")
    return "done"


def fails(error: Exception) -> Handler:
    def handler(_held: Claim) -> str:
        raise error

    return handler


def test_work_that_is_done_or_unknown_is_not_done_again(work_id: int) -> None:
    assert do(work_id, done) == "done"
    assert do(work_id, done) == NOT_DUE
    assert do(work_id + 1, done) == NOT_DUE


def test_three_workers_at_once_do_the_work_once(work_id: int) -> None:
    began: list[int] = []

    def handler(held: Claim) -> str:
        began.append(held.work_id)
        time.sleep(0.3)
        return done(held)

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(lambda _: do(work_id, handler, LASTING), range(3)))
    assert sorted(outcomes) == ["done", NOT_DUE, NOT_DUE]
    assert began == [work_id]


def test_work_that_outlasts_its_lease_keeps_it(work_id: int) -> None:
    """Else a slow model would be asked a second time while it still writes."""
    others: list[str] = []

    def slow(held: Claim) -> str:
        ends = time.monotonic() + 1.5 * LASTING.lease_s
        while time.monotonic() < ends:
            others.append(do(work_id, done))
            time.sleep(0.1)
        return done(held)

    assert do(work_id, slow, LASTING) == "done"
    assert set(others) == {NOT_DUE}


def test_a_lost_lease_is_told_and_changes_nothing(work_id: int, tenant_id: UUID) -> None:
    def robbed(_held: Claim) -> str:
        with session.transaction() as db:
            db.execute(text("update due_work set lease = gen_random_uuid()"))
        raise ValueError("whatever follows")

    assert do(work_id, robbed) == LEASE_LOST
    assert state(tenant_id).state == WorkState.RUNNING


def test_waits_double_and_are_bounded() -> None:
    waits = [backoff_s(attempts, QUICK) for attempts in (1, 2, 3, 8, 9, 1000)]
    assert waits == [2, 4, 8, 256, 300, 300]


def test_a_failure_of_its_own_is_tried_again_later_and_given_up_in_the_end(
    work_id: int, tenant_id: UUID
) -> None:
    for attempt in range(QUICK.max_attempts):
        assert state(tenant_id).state == WorkState.READY
        end = "given up" if attempt + 1 == QUICK.max_attempts else "put off"
        assert do(work_id, fails(KeyError("some words of a user")), PATIENT).startswith(end)
        assert wait_s(tenant_id) > 10 * 2**attempt
        make_due()
    dead = state(tenant_id)
    assert (dead.state, dead.last_error, dead.last_outcome) == (WorkState.DEAD, "KeyError", "given up")


def postgres_says(code: str | None) -> DBAPIError:
    error = psycopg.errors.lookup(code)() if code else psycopg.OperationalError("connection refused")
    return OperationalError("select 1", {}, error)


OUTAGES: dict[str, Exception] = {
    "provider down": LlmFailure(Cause.SERVER, status=503),
    "rate limit": LlmFailure(Cause.RATE_LIMIT, status=429, retry_after_s=60),
    "bad key": LlmFailure(Cause.AUTH, status=401),
    "database away": postgres_says(None),
    "database shut down": postgres_says("57P01"),
    "deadlock": postgres_says("40P01"),
    "lock not got": postgres_says("55P03"),
    "slow disk": postgres_says("57014"),
    "read-only database": postgres_says("25006"),
    "log disk full": OSError(errno.ENOSPC, "No space left on device"),
}


@pytest.mark.parametrize("what", OUTAGES)
def test_no_outage_ever_kills_work(work_id: int, tenant_id: UUID, what: str) -> None:
    for _ in range(2 * QUICK.max_attempts):
        assert do(work_id, fails(OUTAGES[what]), PATIENT).startswith("put off")
        assert wait_s(tenant_id) > 10
        make_due()
    assert state(tenant_id).state == WorkState.READY


def test_a_statement_that_is_too_slow_is_not_tried_again_at_once(work_id: int, tenant_id: UUID) -> None:
    """By then a model may have been paid: each try costs as much, and a slow disk is slow for minutes."""
    do(work_id, fails(postgres_says("57014")))
    assert wait_s(tenant_id) > 40


def test_work_is_put_off_as_soon_as_the_database_is_back(work_id: int, tenant_id: UUID) -> None:
    """Its lease would run out otherwise, and that looks as if the work had killed its worker."""
    asked = count(1)

    def away(_db: Connection) -> None:
        if next(asked) <= 3:
            raise postgres_says("57P01")

    def handler(_held: Claim) -> str:
        event.listen(session.engine(), "begin", away)
        raise postgres_says("57P01")

    try:
        assert do(work_id, handler, LASTING.model_copy(update={"renew_s": 1.0})).startswith("put off")
    finally:
        event.remove(session.engine(), "begin", away)
    kept = state(tenant_id)
    assert (kept.state, kept.attempts, kept.crashes) == (WorkState.READY, 0, 0)
    assert next(asked) > 4


def test_a_fault_of_our_own_ends_the_putting_off(work_id: int, tenant_id: UUID) -> None:
    def handler(_held: Claim) -> str:
        with session.transaction() as db:
            db.execute(text("alter table due_work add constraint never check (last_error is null) not valid"))
        raise ValueError("whatever")

    try:
        with pytest.raises(DBAPIError):
            do(work_id, handler)
    finally:
        with session.transaction() as db:
            db.execute(text("alter table due_work drop constraint never"))
    assert state(tenant_id).state == WorkState.RUNNING


def test_work_waits_as_long_as_the_provider_asks(work_id: int, tenant_id: UUID) -> None:
    do(work_id, fails(LlmFailure(Cause.RATE_LIMIT, status=429, retry_after_s=60)))
    assert 30 < wait_s(tenant_id) < 62


def test_work_over_a_cap_waits_for_the_next_day(work_id: int, tenant_id: UUID, engine: Engine) -> None:
    """It must not spin while it is denied."""
    with engine.connect() as db:
        now = db.execute(text("select now()")).scalar_one()
    denied = BudgetDeniedError(Denial("tenant", "tokens", 90, 20, 100), now=now)
    do(work_id, fails(denied))
    assert wait_s(tenant_id) == pytest.approx(denied.retry_in_s, abs=30)
    assert do(work_id, done) == NOT_DUE
    assert state(tenant_id).last_error == denied.message
