"""Due work under any order of events: it is never lost, never done by two, and never stuck."""

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, Engine, RootTransaction

from models.due_work.operator import redrive
from models.due_work.queue import (
    Claim,
    DueWork,
    WorkKind,
    WorkState,
    claim,
    enqueue,
    find_work,
    finish,
    lock_lease,
    renew,
    retry_later,
)
from models.due_work.waiting import rest
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.works import MAX_ATTEMPTS, MAX_CRASHES, Clock, facts, is_due, take_next

LEASE_S = 20.0
KEYS = st.sampled_from(["s1", "s2"])
SECONDS = st.sampled_from([0.0, 1.0, 6.0, LEASE_S + 1, 400.0])


class WorkMachine(RuleBasedStateMachine):
    """Wishes, leases, ends and time in any order, on real rows, against a few counters."""

    pool: Engine
    claims = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.db: Connection = self.pool.connect()
        self.outer: RootTransaction = self.db.begin()
        self.tenant: UUID = ensure_tenant(self.db, "machine")
        self.clock = Clock(self.db)
        self.given: list[Claim] = []
        self.wishes: dict[str, int] = {}

    def teardown(self) -> None:
        self.outer.rollback()
        self.db.close()

    def row(self, key: str) -> DueWork | None:
        return find_work(Scope(self.db, self.tenant), WorkKind.SUMMARIZE, key)

    @initialize()
    def ask_for_one(self) -> None:
        self.ask("s1", 0, awaited=False)

    @rule(key=KEYS, delay_s=SECONDS, awaited=st.booleans())
    def ask(self, key: str, delay_s: float, *, awaited: bool) -> None:
        enqueue(Scope(self.db, self.tenant), WorkKind.SUMMARIZE, key, delay_s=delay_s, awaited=awaited)
        self.wishes[key] = self.wishes.get(key, 0) + 1

    @rule(seconds=SECONDS)
    def let_time_pass(self, seconds: float) -> None:
        self.clock.pass_by(seconds)

    @rule(target=claims, key=KEYS)
    def lease(self, key: str) -> Claim | None:
        before = self.row(key)
        if before is None:
            return None
        due = self.is_due(before)
        crashed = due and before.state == WorkState.RUNNING
        held = claim(self.db, before.work_id, lease_s=LEASE_S, max_crashes=MAX_CRASHES)
        after = self.row(key)
        assert after is not None
        if not due:
            assert held is None
            assert after.claimed == before.claimed
        elif crashed and before.crashes + 1 >= MAX_CRASHES:
            assert held is None
            assert after.state == WorkState.DEAD
        else:
            assert held is not None
            assert (after.crashes, after.attempts) == (
                before.crashes + crashed,
                before.attempts + (not crashed),
            )
            self.given.append(held)
        return held

    @rule(held=claims, again=st.booleans())
    def end_well(self, held: Claim | None, *, again: bool) -> None:
        self.only_the_holder(held, lambda one: finish(self.db, one, "done", again_in_s=0 if again else None))

    @rule(held=claims, own_fault=st.booleans(), delay_s=SECONDS)
    def end_badly(self, held: Claim | None, delay_s: float, *, own_fault: bool) -> None:
        most = MAX_ATTEMPTS if own_fault else None
        self.only_the_holder(
            held, lambda one: retry_later(self.db, one, "no", delay_s=delay_s, max_attempts=most)
        )

    @rule(held=claims, seconds=SECONDS)
    def end_refused(self, held: Claim | None, seconds: float) -> None:
        def refuse(one: Claim) -> bool:
            rest(self.db, one, "refused", seconds=seconds)
            return finish(self.db, one, "refused")

        self.only_the_holder(held, refuse)

    @rule(held=claims)
    def stay(self, held: Claim | None) -> None:
        self.only_the_holder(held, lambda one: renew(self.db, one, lease_s=LEASE_S))

    @rule(target=claims)
    def take_what_is_next(self) -> Claim | None:
        due = {key for key in self.wishes if (found := self.row(key)) and self.is_due(found)}
        assert is_due(self.db) is bool(due)
        held = take_next(self.db)
        assert held is not None or not due or self.has_died(due)
        if held is not None:
            assert held.key in due
            self.given.append(held)
        return held

    def has_died(self, keys: set[str]) -> bool:
        return any(found.state == WorkState.DEAD for key in keys if (found := self.row(key)))

    @rule()
    def give_another_life(self) -> None:
        redrive(self.db, self.tenant)

    def is_due(self, work: DueWork) -> bool:
        now = self.db.exec_driver_sql("select now()").scalar_one()
        if work.state == WorkState.RUNNING:
            return work.lease_until is not None and work.lease_until < now
        return work.state == WorkState.READY and work.due_at <= now

    def only_the_holder(self, held: Claim | None, act: Callable[[Claim], bool]) -> None:
        if held is None:
            return
        mine = lock_lease(self.db, held)
        before = facts(self.db)
        assert act(held) is mine
        if not mine:
            assert facts(self.db) == before

    @invariant()
    def at_most_one_lease_is_valid(self) -> None:
        valid = [held.work_id for held in self.given[-4:] if lock_lease(self.db, held)]
        assert len(valid) == len(set(valid))

    @invariant()
    def nothing_that_was_wanted_is_lost_or_given_up_early(self) -> None:
        for key, wishes in self.wishes.items():
            work = self.row(key)
            assert work is not None
            assert work.wanted == wishes
            assert work.state != WorkState.IDLE or work.wanted == work.claimed
            if work.state == WorkState.RUNNING:
                assert self.db.exec_driver_sql("select now()").scalar_one() >= work.due_at, (
                    "by this it is found"
                )
            if work.state == WorkState.DEAD:
                assert work.crashes >= MAX_CRASHES or work.attempts >= MAX_ATTEMPTS


@pytest.mark.usefixtures("empty_db")
def test_any_order_of_events_keeps_the_promises_of_due_work(engine: Engine) -> None:
    machine = type("Machine", (WorkMachine,), {"pool": engine})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=30,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
