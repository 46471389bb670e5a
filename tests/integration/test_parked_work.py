"""Work that waits for a model goes on soon after the model may be asked, and not all of it at once."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from llm.failures import Cause, LlmFailure
from models.database import database_now, transaction
from models.due_work import waiting as parked_work
from models.due_work.queue import Claim, DueWork, WorkKind, enqueue, finish
from models.due_work.waiting import MOST_AT_ONCE, WaitsFor, hasten_one, release_parked
from models.ledger.caps import BudgetDeniedError, Denial
from models.providers.circuit_breaker import (
    BreakerRules,
    ProviderPacedError,
    ProviderParkedError,
    admit,
    end_wait,
    list_gates,
    note_failure,
    note_success,
    take_turn,
)
from models.scope import Scope
from models.snapshot import take_snapshot
from tests.integration.works import QUICK, row
from workers.dispatch import look_at_models
from workers.jobs.lifecycle import Handler, run_work

LOOK_S = 5.0
RULES = BreakerRules(failures=3, open_s=30, open_max_s=100, park_s=900)


def park(model: str, *, parks: bool = True) -> datetime:
    """A model whose key is bad. Returns until when it is not asked."""
    with transaction() as db:
        until = note_failure(db, model, reason="auth", now=database_now(db), rules=RULES, parks=parks)
    assert until is not None
    return until


def mend(model: str) -> None:
    """A call that began after that was answered."""
    with transaction() as db:
        note_success(db, model, began_at=database_now(db))


def meets(error: Exception) -> Handler:
    """Work that ends with it."""

    def handler(_held: Claim) -> str:
        raise error

    return handler


def do(tenant: UUID, key: str, handler: Handler) -> str:
    """Ask for a session's work, and have it done now, whenever it is due."""
    with transaction() as db:
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, key)
        work_id = row(db, tenant, key).work_id
        db.execute(text("update due_work set due_at = now() where work_id = :id"), {"id": work_id})
    return run_work(work_id, {WorkKind.SUMMARIZE: handler}, QUICK)


def parked(model: str, *others: str) -> ProviderParkedError:
    """What somebody is told who would ask a parked model, and whose fallbacks are parked too."""
    with transaction() as db:
        now = database_now(db)
    error = ProviderParkedError(model, until=now + timedelta(minutes=15), reason="auth", now=now)
    error.gates = (model, *others)
    return error


def wait(tenant: UUID, keys: Sequence[str], error: Exception) -> None:
    for key in keys:
        assert do(tenant, key, meets(error)).startswith("put off")


def look(*, calls_per_minute: int = 0) -> int:
    with transaction() as db:
        return release_parked(db, look_s=LOOK_S, calls_per_minute=calls_per_minute)


def work(tenant: UUID, key: str) -> DueWork:
    with transaction() as db:
        return row(db, tenant, key)


def going_on(tenant: UUID, keys: Sequence[str]) -> list[str]:
    """Whose work is due within one interval."""
    with transaction() as db:
        soon = database_now(db) + timedelta(seconds=LOOK_S)
        return [key for key in keys if row(db, tenant, key).due_at <= soon]


def test_it_goes_on_once_the_gate_has_closed_and_not_before(tenant_id: UUID) -> None:
    park("m")
    wait(tenant_id, ["s1"], parked("m"))
    assert look() == 0
    assert going_on(tenant_id, ["s1"]) == []
    mend("m")
    assert look() == 1
    assert going_on(tenant_id, ["s1"]) == ["s1"]


def test_while_a_probe_is_under_way_all_others_wait_for_its_answer(tenant_id: UUID) -> None:
    park("m")
    wait(tenant_id, ["s1"], parked("m"))
    with transaction() as db:
        assert end_wait(db, "m")
        admit(db, "m", now=database_now(db), probe_s=41)
    assert look() == 0
    mend("m")
    assert look() == 1


@pytest.mark.parametrize("mended", ["m", "fallback"])
def test_one_model_of_several_that_answers_again_is_enough(tenant_id: UUID, mended: str) -> None:
    for model in ("m", "fallback"):
        park(model)
    wait(tenant_id, ["s1"], parked("m", "fallback"))
    park("other")
    wait(tenant_id, ["s2"], parked("other"))
    assert look() == 0
    mend(mended)
    assert look() == 1
    assert going_on(tenant_id, ["s1", "s2"]) == ["s1"]


def plant_waiting(tenant: UUID, count: int) -> None:
    """So much work that waits for `m`, due at the end of its park."""
    with transaction() as db:
        db.execute(
            text(
                "insert into due_work (tenant_id, kind, key, state, due_at, last_error, waits_for, "
                "waits_since, waits_for_models) select :tenant, 'summarize', 's' || n, 'ready', "
                "now() + interval '10 min' + n * interval '1 ms', 'm is parked', 'model', now(), array['m'] "
                "from generate_series(1, :count) as n"
            ),
            {"tenant": tenant, "count": count},
        )


def begin_one() -> None:
    """Somebody takes the first that is due."""
    with transaction() as db:
        db.execute(
            text(
                "update due_work set state = 'running', lease = gen_random_uuid(), lease_until = now() "
                "where work_id = (select work_id from due_work where state = 'ready' order by due_at limit 1)"
            )
        )


@pytest.mark.parametrize(
    ("calls_per_minute", "most"), [(0, MOST_AT_ONCE), (36, 3), (1, 1), (60_000, MOST_AT_ONCE)]
)
def test_no_more_is_on_its_way_at_once_than_a_provider_bears_that_has_just_come_back(
    tenant_id: UUID, calls_per_minute: int, most: int
) -> None:
    plant_waiting(tenant_id, 150)
    assert look(calls_per_minute=calls_per_minute) == most
    first = [f"s{number}" for number in range(1, most + 1)]
    assert going_on(tenant_id, [f"s{number}" for number in range(1, 151)]) == first
    assert look(calls_per_minute=calls_per_minute) == 0
    begin_one()
    assert look(calls_per_minute=calls_per_minute) == 1


def test_what_goes_on_is_spread_over_one_interval(tenant_id: UUID) -> None:
    plant_waiting(tenant_id, MOST_AT_ONCE)
    with transaction() as db:
        release_parked(db, look_s=LOOK_S)
        least, most, now = db.execute(text("select min(due_at), max(due_at), now() from due_work")).one()
    assert now <= least < now + timedelta(seconds=LOOK_S / 2) < most <= now + timedelta(seconds=LOOK_S)


def test_nobody_is_sent_to_the_end_of_a_line_that_has_formed(tenant_id: UUID) -> None:
    plant_waiting(tenant_id, 2)
    with transaction() as db:
        for _ in range(3):
            take_turn(db, "m", per_minute=6, now=database_now(db))
    assert look(calls_per_minute=6) == 0
    with transaction() as db:
        db.execute(text("update provider_pace set next_at = now()"))
    assert look(calls_per_minute=6) == 1


def paced() -> ProviderPacedError:
    with transaction() as db:
        now = database_now(db)
    return ProviderPacedError("m", until=now + timedelta(minutes=5), reason="60 a minute", now=now)


def failed(cause: Cause, *, retry_after_s: float | None = None) -> LlmFailure:
    """What becomes of a call to `m`."""
    failure = LlmFailure(cause, retry_after_s=retry_after_s)
    failure.model = "m"
    return failure


OWN_PAUSES = {
    "a broken answer": failed(Cause.NO_CONTENT),
    "a provider that is down": failed(Cause.SERVER),
    "a bad key": failed(Cause.AUTH),
    "a fault of ours": ValueError("no"),
}


@pytest.mark.parametrize("why", OWN_PAUSES)
def test_work_that_tries_again_by_its_own_pauses_is_left_to_them(tenant_id: UUID, why: str) -> None:
    wait(tenant_id, ["s1"], OWN_PAUSES[why])
    assert work(tenant_id, "s1").waits_for_models is None
    assert look() == 0


def test_work_that_has_its_place_in_the_line_keeps_it(tenant_id: UUID) -> None:
    wait(tenant_id, ["s1"], paced())
    assert look() == 0
    assert work(tenant_id, "s1").waits_for == WaitsFor.MODEL


def test_work_that_a_provider_sent_away_for_long_waits_for_the_gate_too(tenant_id: UUID) -> None:
    wait(tenant_id, ["s1"], failed(Cause.RATE_LIMIT, retry_after_s=600))
    assert work(tenant_id, "s1").waits_for_models == ["m"]


def test_how_long_it_has_waited_counts_on_from_try_to_try(tenant_id: UUID) -> None:
    """Else work that is tried every quarter of an hour would never have waited for longer."""
    wait(tenant_id, ["s1"], parked("m"))
    with transaction() as db:
        db.execute(text("update due_work set waits_since = now() - interval '1 h'"))
    wait(tenant_id, ["s1"], failed(Cause.AUTH))
    wait(tenant_id, ["s1"], parked("m"))
    with transaction() as db:
        [waiting] = take_snapshot(db, now=database_now(db)).waiting
    assert waiting.waits_for == "model"
    assert 3_600 <= waiting.oldest_s < 4_000


def test_work_that_waits_for_something_else_by_now_has_not_waited_for_that_yet(tenant_id: UUID) -> None:
    wait(tenant_id, ["s1"], parked("m"))
    with transaction() as db:
        db.execute(text("update due_work set waits_since = now() - interval '1 h'"))
        now = database_now(db)
    wait(tenant_id, ["s1"], BudgetDeniedError(Denial("tenant", "tokens", 90, 200, 100), now=now))
    with transaction() as db:
        [waiting] = take_snapshot(db, now=database_now(db)).waiting
    assert waiting.waits_for == "cap"
    assert waiting.oldest_s < 600
    assert work(tenant_id, "s1").waits_for_models is None


@pytest.mark.parametrize("end", ["done", "a fault of its own"])
def test_work_that_is_done_or_fails_by_itself_waits_for_nothing(tenant_id: UUID, end: str) -> None:
    wait(tenant_id, ["s1"], parked("m"))
    if end == "done":
        do(tenant_id, "s1", finishing)
    else:
        wait(tenant_id, ["s1"], ValueError("no"))
    found = work(tenant_id, "s1")
    assert (found.waits_for, found.waits_since, found.waits_for_models) == (None, None, None)
    with transaction() as db:
        assert take_snapshot(db, now=database_now(db)).waiting == []


def finishing(held: Claim) -> str:
    with transaction() as db:
        finish(db, held, "done")
    return "done"


def test_an_operator_lets_one_call_through_and_the_rest_follow_its_answer(tenant_id: UUID) -> None:
    park("m")
    wait(tenant_id, ["s1", "s2"], parked("m"))
    with transaction() as db:
        assert end_wait(db, "m")
        assert hasten_one(db, "m")
    assert len(going_on(tenant_id, ["s1", "s2"])) == 1
    with transaction() as db:
        admit(db, "m", now=database_now(db), probe_s=41)
    with pytest.raises(ProviderParkedError), transaction() as db:
        admit(db, "m", now=database_now(db), probe_s=41)
    mend("m")
    assert look() == 1


def test_a_model_that_is_well_has_no_wait_to_end(tenant_id: UUID) -> None:
    del tenant_id
    with transaction() as db:
        assert not end_wait(db, "m")
        assert not hasten_one(db, "m")
        assert list_gates(db, now=database_now(db)) == []


def test_the_dispatcher_looks(tenant_id: UUID) -> None:
    wait(tenant_id, ["s1"], parked("m"))
    look_at_models(QUICK)
    assert going_on(tenant_id, ["s1"]) == ["s1"]


def test_a_look_reads_little_however_much_waits(tenant_id: UUID) -> None:
    park("m")
    plant_waiting(tenant_id, 20_000)
    values = {"models": ["m"], "most": MOST_AT_ONCE, "look_s": LOOK_S}
    most_read = {"MAY_GO_ON": 10, "BEGUN": MOST_AT_ONCE, "RELEASE": 3 * MOST_AT_ONCE}
    with transaction() as db:
        db.execute(text("analyze due_work"))
        for name, most in most_read.items():
            statement = getattr(parked_work, name).text
            used = {key: value for key, value in values.items() if f":{key}" in statement}
            told = db.execute(text(f"explain (analyze, format json) {statement}"), used).scalar_one()
            assert read(told[0]["Plan"]) <= most, name


def read(plan: dict[str, Any]) -> float:
    """How many rows of the table of work were read."""
    own = plan.get("Relation Name") == "due_work" and plan["Node Type"] != "ModifyTable"
    rows = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"] if own else 0
    return rows + sum(read(part) for part in plan.get("Plans", []))
