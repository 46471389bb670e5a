"""A lease ran out: a crash counts only where the worker's process died alone, with its pool living on."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, event, text

from models import database as session
from models.due_work.heartbeat import LossRules, beat, show_pool
from models.due_work.queue import DueWork, WorkKind, WorkState, claim, enqueue, find_work, finish
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.test_lifecycle import postgres_says
from tests.integration.works import QUICK
from workers.telemetry import INSTANCE, PoolSign

LEASE_S = 0.4
"""So short that the tests' server was started before: else each loss would be the server's."""
RULES = LossRules("here:1", renew_s=0.1, max_losses=4, rest_s=900)
GAP_S = 10
LONG_AGO_S = 3600


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "lost")


@pytest.fixture
def lost(db: Connection, tenant: UUID) -> "Lost":
    """Work whose lease can be made to run out, of a worker that started an hour ago."""
    beat(db, "worker", RULES.holder)
    show_pool(db, RULES.holder, gap_s=GAP_S, anew=True)
    enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, "s1")
    return Lost(db, tenant)


class Lost:
    """The one piece of work; its clock stands still, so that the rows move to the past instead."""

    def __init__(self, db: Connection, tenant: UUID) -> None:
        self.db, self.tenant = db, tenant

    @property
    def row(self) -> DueWork:
        found = find_work(Scope(self.db, self.tenant), WorkKind.SUMMARIZE, "s1")
        assert found is not None
        return found

    def claim(self, by: str = RULES.holder) -> bool:
        rules = replace(RULES, holder=by)
        return claim(self.db, self.row.work_id, lease_s=LEASE_S, max_crashes=3, rules=rules) is not None

    def runs_out(self, *, pool_seen_s_ago: float | None, pool_since_s_ago: float = LONG_AGO_S) -> None:
        """The last renewal was 0.41 s ago; the pool was seen since then and until then."""
        self.db.execute(
            text("update due_work set lease_until = now() - interval '0.01 s' where state = 'running'")
        )
        ago = "now() - make_interval(secs => :{})"
        seen = f"pool_since = {ago.format('since')}, pool_seen_at = {ago.format('seen')}"
        spans = {"since": pool_since_s_ago, "seen": pool_seen_s_ago}
        self.db.execute(text(f"update heartbeat set {seen}"), spans)  # noqa: S608 (of our own)

    @property
    def counts(self) -> tuple[int, int]:
        return self.row.crashes, self.row.losses


def test_a_process_that_dies_alone_is_the_works_fault(lost: Lost) -> None:
    lost.claim()
    lost.runs_out(pool_seen_s_ago=0.05)
    assert lost.claim("elsewhere:1")
    assert lost.counts == (1, 0)


def test_the_pool_that_takes_it_again_lives_on_although_it_said_so_late(lost: Lost) -> None:
    lost.claim()
    lost.runs_out(pool_seen_s_ago=0.35)
    assert lost.claim()
    assert lost.counts == (1, 0)


@pytest.mark.parametrize(
    ("seen_s_ago", "since_s_ago"),
    [
        pytest.param(0.35, LONG_AGO_S, id="the pool is gone as well"),
        pytest.param(0.05, 0.2, id="the pool is another one, or could not reach the database meanwhile"),
        pytest.param(None, LONG_AGO_S, id="nobody knows"),
    ],
)
def test_a_pool_that_went_or_lost_the_database_is_not(
    lost: Lost, seen_s_ago: float | None, since_s_ago: float
) -> None:
    lost.claim()
    for losses in range(1, RULES.max_losses):
        lost.runs_out(pool_seen_s_ago=seen_s_ago, pool_since_s_ago=since_s_ago)
        assert lost.claim("elsewhere:1")
        lost.db.execute(text("update due_work set holder = :holder"), {"holder": RULES.holder})
        assert lost.counts == (0, losses)


def test_a_server_that_was_started_meanwhile_counts_nothing_at_all(lost: Lost) -> None:
    for _ in range(2 * RULES.max_losses):
        assert lost.claim()
        lost.runs_out(pool_seen_s_ago=0.05)
        lost.db.execute(text("update due_work set lease_until = pg_postmaster_start_time()"))
    assert lost.claim()
    assert lost.counts == (0, 0)


def test_work_that_takes_its_whole_pool_down_ends_too(lost: Lost) -> None:
    """A container that is killed for its memory goes as a whole."""
    lost.claim()
    for losses in range(1, RULES.max_losses):
        lost.runs_out(pool_seen_s_ago=0.05, pool_since_s_ago=0.2)
        assert lost.claim()
        assert lost.counts == (0, losses)
    lost.runs_out(pool_seen_s_ago=0.05, pool_since_s_ago=0.2)
    assert not lost.claim()
    assert (lost.row.state, lost.counts) == (WorkState.DEAD, (0, RULES.max_losses))
    enqueue(Scope(lost.db, lost.tenant), WorkKind.SUMMARIZE, "s1")
    assert (lost.row.state, lost.counts) == (WorkState.READY, (0, RULES.max_losses - 1))
    assert lost.row.rests_until is not None
    assert lost.row.due_at == lost.row.rests_until


def test_success_clears_what_was_lost(lost: Lost) -> None:
    lost.claim()
    lost.runs_out(pool_seen_s_ago=0.05, pool_since_s_ago=0.2)
    held = claim(lost.db, lost.row.work_id, lease_s=LEASE_S, max_crashes=3, rules=RULES)
    assert held is not None
    assert finish(lost.db, held, "done")
    assert lost.counts == (0, 0)


def test_a_lease_of_older_code_counts_as_it_did(lost: Lost) -> None:
    lost.claim()
    lost.db.execute(text("update due_work set holder = null"))
    lost.runs_out(pool_seen_s_ago=None)
    assert lost.claim()
    assert lost.counts == (1, 0)


@pytest.mark.parametrize(("silent_s", "goes_on"), [(GAP_S - 1, True), (GAP_S + 1, False)])
def test_a_pool_that_was_silent_for_long_begins_anew(
    db: Connection, silent_s: float, *, goes_on: bool
) -> None:
    beat(db, "worker", "here:2")
    show_pool(db, "here:2", gap_s=GAP_S, anew=True)
    moved = "pool_seen_at = now() - make_interval(secs => :silent), pool_since = now() - interval '1 hour'"
    db.execute(text(f"update heartbeat set {moved} where instance = 'here:2'"), {"silent": silent_s})  # noqa: S608
    show_pool(db, "here:2", gap_s=GAP_S)
    since = "select now() - pool_since > interval '59 minutes' from heartbeat where instance = 'here:2'"
    assert db.execute(text(since)).scalar_one() is goes_on


@pytest.fixture
def broken_every_third(empty_db: Engine) -> Iterator[None]:
    """A database of which every third transaction fails."""
    asked = count(1)

    def break_it(_db: Connection) -> None:
        if next(asked) % 3 == 0:
            raise postgres_says("57P01")

    with session.transaction() as db:
        beat(db, "worker", INSTANCE)
    event.listen(empty_db, "begin", break_it)
    yield
    event.remove(empty_db, "begin", break_it)


@pytest.mark.usefixtures("broken_every_third")
def test_a_pool_that_could_not_reach_the_database_begins_anew() -> None:
    sign = PoolSign(QUICK.model_copy(update={"renew_s": 1e-9}))
    since = []
    for _ in range(4):
        sign.show()
        with session.read_transaction() as db:
            since.append(db.execute(text("select pool_since from heartbeat")).scalar_one())
    assert since[0] == since[1] == since[2]
    assert since[3] > since[2], "the third sign failed"


def test_a_sign_that_fails_is_no_error_of_the_worker(empty_db: Engine) -> None:
    def break_it(_db: Connection) -> None:
        raise postgres_says("25006")

    event.listen(empty_db, "begin", break_it)
    try:
        PoolSign(QUICK).show(anew=True)
    finally:
        event.remove(empty_db, "begin", break_it)
