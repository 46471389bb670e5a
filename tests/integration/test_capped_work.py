"""Work that waits for a cap goes on once there is room for it, and not before."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from context.providers.profiles import ProfileOverride
from llm.gateway import Gateway
from llm.requests import CompletionRequest, Purpose
from llm.settings import LlmSettings
from models.catalogs.model_profile import set_override
from models.conversations.session import lock_sessions
from models.database import database_now, transaction
from models.due_work.operator import list_stuck
from models.due_work.queue import Claim, WorkKind, claim, enqueue, finish
from models.due_work.waiting import find_capped, release_capped, release_outdated
from models.ledger.call import Reservation, Settlement, reserve, settle
from models.ledger.caps import BudgetDeniedError, Caps, Denial
from models.providers.circuit_breaker import ProviderParkedError
from models.scope import Scope
from models.snapshot import CapCount, take_snapshot
from models.tenants.tenant import ensure_tenant
from tests.integration.works import QUICK, row
from workers.jobs.lifecycle import Handler, run_work
from workers.jobs.sweep import CAPS, sweep

pytestmark = pytest.mark.usefixtures("one_day")

LOOK_S = 5.0
WANTED = 100
MILLIONTH = Decimal("0.000001")
PRICE_A = "a m"


def call(tenant: UUID, session_id: str, tokens: int = WANTED) -> Reservation:
    """A call that takes as many millionths of a dollar as tokens."""
    usd = tokens * MILLIONTH
    return Reservation(tenant, "summarize", "m", tokens, usd, session_id=session_id, judged_by=PRICE_A)


def asks(caps: Caps, tokens: int = WANTED) -> Handler:
    """Work that makes one such call for its session, if the caps let it."""

    def handler(held: Claim) -> str:
        with transaction() as db:
            reserve(db, call(held.tenant_id, held.key, tokens), caps=caps, now=database_now(db))
            finish(db, held, "done")
        return "done"

    return handler


def begin(tenant: UUID, times: int, session_id: str = "s1") -> list[UUID]:
    """So many calls of today, under way."""
    with transaction() as db:
        now = database_now(db)
        lock_sessions(Scope(db, tenant), [session_id])
        return [reserve(db, call(tenant, session_id), caps=Caps(), now=now) for _ in range(times)]


def end(tenant: UUID, calls: Sequence[UUID], tokens: int = WANTED) -> None:
    """They took so much each."""
    ended = Settlement(0.1, charged_tokens=tokens, charged_usd=tokens * MILLIONTH)
    with transaction() as db:
        for call_id in calls:
            settle(Scope(db, tenant), call_id, ended, now=database_now(db))


def do(tenant: UUID, key: str, handler: Handler) -> str:
    """Ask for a session's work, and have it done now, whenever it is due."""
    with transaction() as db:
        enqueue(Scope(db, tenant), WorkKind.SUMMARIZE, key)
        work_id = row(db, tenant, key).work_id
        db.execute(text("update due_work set due_at = now() where work_id = :id"), {"id": work_id})
    return run_work(work_id, {WorkKind.SUMMARIZE: handler}, QUICK)


def deny(tenant: UUID, keys: Sequence[str], caps: Caps, tokens: int = WANTED) -> None:
    for key in keys:
        assert do(tenant, key, asks(caps, tokens)).startswith("put off")


def look(tenant: UUID, caps: Caps, *, later_s: float = LOOK_S + 1) -> int:
    """A look at the caps, so long after the denials."""
    aged = text("update due_work set denied_at = denied_at - make_interval(secs => :s)")
    with transaction() as db:
        db.execute(aged, {"s": later_s})
        return release_capped(Scope(db, tenant), caps, now=database_now(db), look_s=LOOK_S)


def going_on(tenant: UUID, keys: Sequence[str]) -> list[str]:
    """Whose work is due within one interval."""
    with transaction() as db:
        soon = database_now(db) + timedelta(seconds=LOOK_S)
        return [key for key in keys if row(db, tenant, key).due_at <= soon]


def cap_of(name: str, tokens: int) -> Caps:
    """One cap alone, of so many tokens or of what they cost."""
    value: Any = tokens * MILLIONTH if "usd" in name else tokens
    return Caps(**{name: value})


NAMES = ("tenant_tokens_per_day", "tenant_usd_per_day", "session_tokens_per_day", "session_usd_per_day")


@pytest.mark.parametrize("above", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_it_goes_on_where_a_raised_cap_has_room_for_it(tenant_id: UUID, name: str, above: int) -> None:
    end(tenant_id, begin(tenant_id, 2))
    deny(tenant_id, ["s1"], cap_of(name, 250))
    assert look(tenant_id, cap_of(name, 200 + WANTED - 1)) == 0
    assert going_on(tenant_id, ["s1"]) == []
    assert look(tenant_id, cap_of(name, 200 + WANTED + above)) == 1
    assert going_on(tenant_id, ["s1"]) == ["s1"]


def test_it_goes_on_where_a_cap_was_taken_away(tenant_id: UUID) -> None:
    deny(tenant_id, ["s1"], Caps(tenant_tokens_per_day=50))
    assert look(tenant_id, Caps()) == 1


def test_as_many_go_on_as_there_is_room_for_and_the_rest_follow(tenant_id: UUID) -> None:
    keys = [f"s{number}" for number in range(6)]
    deny(tenant_id, keys, Caps(tenant_tokens_per_day=50))
    raised = Caps(tenant_tokens_per_day=250)
    assert look(tenant_id, raised) == 2
    first = going_on(tenant_id, keys)
    assert look(tenant_id, raised) == 0  # those two have the room, though they have not begun
    assert [do(tenant_id, key, asks(raised)) for key in first] == ["done", "done"]
    assert look(tenant_id, raised) == 0
    assert look(tenant_id, Caps(tenant_tokens_per_day=600)) == 4
    for key in set(keys) - set(first):
        assert do(tenant_id, key, asks(Caps(tenant_tokens_per_day=600))) == "done"


@pytest.mark.parametrize("name", ["tenant_tokens_per_day", "session_tokens_per_day"])
def test_it_goes_on_where_calls_took_less_than_was_reserved(tenant_id: UUID, name: str) -> None:
    """Else work that came while others were under way would wait a day beside an empty cap."""
    calls = begin(tenant_id, 2)
    deny(tenant_id, ["s1"], cap_of(name, 250))
    end(tenant_id, calls, tokens=10)
    assert look(tenant_id, cap_of(name, 250), later_s=0) == 0  # it was denied a moment ago
    assert look(tenant_id, cap_of(name, 250)) == 1


def test_nothing_goes_on_while_some_worker_denies_by_a_smaller_cap(tenant_id: UUID) -> None:
    """It would deny all of it again, at every look."""
    deny(tenant_id, ["s1", "s2"], Caps(tenant_tokens_per_day=50))
    aged = text("update due_work set denied_at = denied_at - interval '1 hour' where key = 's2'")
    with transaction() as db:
        db.execute(aged)
    raised = Caps(tenant_tokens_per_day=500)
    assert look(tenant_id, raised, later_s=0) == 0
    assert look(tenant_id, raised) == 2


def test_meanwhile_it_counts_no_attempt_and_tells_what_it_waits_for(tenant_id: UUID) -> None:
    small = Caps(tenant_tokens_per_day=50)
    for _ in range(3):
        deny(tenant_id, ["s1"], small)
        assert look(tenant_id, small) == 0
        with transaction() as db:
            (waits,) = list_stuck(db, tenant_id)
            assert take_snapshot(db, now=database_now(db)).over_caps == [CapCount("tenant", "tokens", 1)]
        assert (waits.attempts, waits.crashes, waits.last_outcome) == (0, 0, "put off")
        assert waits.last_error == (
            "the tenant's cap of 50 tokens a day has 50 left and the call may take 100: "
            "never under this cap, soon under a larger one"
        )


def outdated(tenant: UUID, now_by: str, *, later_s: float = LOOK_S + 1) -> int:
    """A look at what was denied under something else than `now_by`, so long after the denials."""
    aged = text("update due_work set denied_at = denied_at - make_interval(secs => :s)")
    with transaction() as db:
        db.execute(aged, {"s": later_s})
        return release_outdated(Scope(db, tenant), lambda _: now_by, now=database_now(db), look_s=LOOK_S)


def test_it_goes_on_where_what_it_was_judged_by_has_changed(tenant_id: UUID) -> None:
    """Another model may fit, and so may the same one once its price is known."""
    deny(tenant_id, ["s1", "s2"], Caps(tenant_tokens_per_day=50))
    assert outdated(tenant_id, "other m", later_s=0) == 0  # some worker has just denied under the old ones
    assert outdated(tenant_id, PRICE_A) == 0
    assert outdated(tenant_id, "other m") == 2
    assert going_on(tenant_id, ["s1", "s2"]) == ["s1", "s2"]


def test_work_denied_by_a_guess_goes_on_once_its_price_is_known(tenant_id: UUID) -> None:
    settings = LlmSettings(llm_api_base="http://127.0.0.1:1/v1", summarizer_model="openai/nobody-knows")
    caps = Caps(tenant_usd_per_day=Decimal("0.0001"))

    def handler(held: Claim) -> str:
        asked = CompletionRequest(
            tenant_id=held.tenant_id,
            purpose=Purpose.SUMMARIZE,
            model=settings.summarizer_model,
            messages=[],
            max_output_tokens=100,
            input_tokens=20,
        )
        return Gateway(settings, caps).complete(asked).text

    assert "0.00156, a guess for want of a price: never" in do(tenant_id, "s1", handler)
    assert sweep_caps(tenant_id, caps, settings).startswith("0 pieces")
    known = ProfileOverride("openai/nobody-knows", input_usd=Decimal("0.1"), output_usd=Decimal("0.2"))
    with Scope.write(tenant_id) as scope:
        set_override(scope, known)
    assert sweep_caps(tenant_id, caps, settings).startswith("1 pieces")


def test_what_has_begun_or_waits_for_something_else_is_left_alone(tenant_id: UUID) -> None:
    deny(tenant_id, ["s1"], Caps(tenant_tokens_per_day=50))

    def parked(_held: Claim) -> str:
        with transaction() as db:
            now = database_now(db)
        raise ProviderParkedError("m", until=now + timedelta(hours=1), reason="auth", now=now)

    assert do(tenant_id, "s1", parked).startswith("put off")
    assert look(tenant_id, Caps()) == 0
    assert going_on(tenant_id, ["s1"]) == []


def test_another_tenants_work_is_left_alone(tenant_id: UUID) -> None:
    with transaction() as db:
        other, idle = (ensure_tenant(db, name) for name in ("other", "idle"))
    deny(tenant_id, ["s1"], Caps(tenant_tokens_per_day=50))
    deny(other, ["s1", "s2"], Caps(tenant_tokens_per_day=50))
    do(idle, "s1", asks(Caps()))
    with transaction() as db:
        assert set(find_capped(db)) == {tenant_id, other}
    assert look(tenant_id, Caps()) == 1
    assert going_on(other, ["s1", "s2"]) == []


def sweep_caps(tenant: UUID, caps: Caps, llm: LlmSettings) -> str:
    """The regular look, a minute after the denials."""
    with transaction() as db:
        db.execute(text("update due_work set denied_at = denied_at - interval '1 minute'"))
        enqueue(Scope(db, tenant), WorkKind.SWEEP, CAPS)
        work_id = db.execute(text("select work_id from due_work where kind = 'sweep'")).scalar_one()
        held = claim(db, work_id, lease_s=20, max_crashes=3)
    assert held is not None
    return sweep(held, llm=llm, caps=caps, cap_look_s=LOOK_S)


def test_the_sweep_brings_every_tenants_work_forward(tenant_id: UUID) -> None:
    with transaction() as db:
        other = ensure_tenant(db, "other")
    for tenant in (tenant_id, other):
        deny(tenant, ["s1"], Caps(tenant_tokens_per_day=50))
    told = sweep_caps(tenant_id, Caps(), LlmSettings())
    assert told == "2 pieces of work of 2 tenants over a cap go on"
    assert going_on(tenant_id, ["s1"]) + going_on(other, ["s1"]) == ["s1", "s1"]


def test_a_plan_is_not_made_to_wait_for_longer_than_it_may(tenant_id: UUID) -> None:
    """Who asked would hear of it a day later only."""
    with transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.PLAN, "p1")
        work_id, now = db.execute(text("select work_id, now() from due_work")).one()
    denied = BudgetDeniedError(Denial("tenant", "tokens", 90, 200, 100), now=now)

    def handler(_held: Claim) -> str:
        raise denied

    run_work(work_id, {WorkKind.PLAN: handler}, QUICK)
    with transaction() as db:
        wait_s = db.execute(text("select extract(epoch from due_at - now()) from due_work")).scalar_one()
    assert 60 < wait_s < QUICK.plan_wait_s + 1
