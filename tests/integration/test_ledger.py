"""The ledger and its caps, on a real database."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, select, text, update
from sqlalchemy.exc import IntegrityError

from models.conversations.session import lock_sessions
from models.erasure.sessions import erase_session
from models.ledger.call import (
    CallState,
    LlmCall,
    Reservation,
    Settlement,
    forget_session,
    reserve,
    settle,
    spent_today,
    sweep_lost,
    usage_by_day,
)
from models.ledger.caps import BudgetDeniedError, Caps
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.works import plant_work
from tests.waiting import wait_until

NOW = datetime(2026, 3, 9, 22, 30, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)
NO_CAPS = Caps()
USED = Settlement(
    latency_s=1.5,
    answered_by="m-2026",
    input_tokens=80,
    cached_tokens=30,
    output_tokens=10,
    reasoning_tokens=4,
    price_usd=Decimal("0.002"),
    charged_tokens=90,
    charged_usd=Decimal("0.002"),
)


@pytest.fixture
def tenant(db: Connection) -> UUID:
    """A tenant with the session and the work of the calls here."""
    tenant_id = ensure_tenant(db, f"ledger-{uuid4()}")
    plant_work(db, tenant_id, "s", 7)
    return tenant_id


def wanted(tenant: UUID, tokens: int = 100, usd: str = "0.01", session_id: str | None = "s") -> Reservation:
    return Reservation(tenant, "summarize", "m", tokens, Decimal(usd), session_id=session_id, work_id=7)


def row_of(db: Connection, call_id: UUID) -> LlmCall:
    row = db.execute(select(LlmCall.__table__).where(LlmCall.call_id == call_id)).mappings().one()
    return LlmCall(**row)


def test_a_reservation_is_charged_before_anything_is_known(db: Connection, tenant: UUID) -> None:
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    assert row_of(db, call_id).state == CallState.RESERVED
    assert spent_today(Scope(db, tenant), now=NOW).tokens == 100


def test_a_settled_call_is_charged_what_it_took(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    assert settle(scope, call_id, USED, now=NOW)
    spent = spent_today(scope, now=NOW)
    assert (spent.tokens, spent.usd) == (90, Decimal("0.002"))


def test_an_unknown_price_stays_unknown_and_keeps_its_charge(db: Connection, tenant: UUID) -> None:
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    settle(Scope(db, tenant), call_id, replace(USED, price_usd=None, charged_usd=None), now=NOW)
    row = row_of(db, call_id)
    assert row.price_usd is None
    assert row.charged_usd == Decimal("0.01")


def test_a_call_settles_once(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    assert settle(scope, call_id, USED, now=NOW)
    assert not settle(scope, call_id, replace(USED, failure="timeout"), now=NOW)
    assert row_of(db, call_id).state == CallState.OK


def test_another_tenant_cannot_settle_a_call(db: Connection, tenant: UUID) -> None:
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    assert not settle(Scope(db, ensure_tenant(db, f"other-{uuid4()}")), call_id, USED, now=NOW)


def test_a_failed_call_says_why(db: Connection, tenant: UUID) -> None:
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    settle(
        Scope(db, tenant), call_id, Settlement(latency_s=0.1, failure="auth", detail="no such key"), now=NOW
    )
    row = row_of(db, call_id)
    assert (row.state, row.failure, row.detail, row.latency_ms) == ("failed", "auth", "no such key", 100)


FAILED = Settlement(latency_s=0.1, failure="server", detail="it said: zqxmarker")


def test_a_call_under_way_tells_nothing_of_a_session_that_was_erased_meanwhile(
    db: Connection, tenant: UUID
) -> None:
    scope = Scope(db, tenant)
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    erase_session(scope, "s")
    assert settle(scope, call_id, FAILED, now=NOW)
    row = row_of(db, call_id)
    assert (row.failure, row.detail, row.session_id, row.work_id) == ("server", None, None, None)


def test_a_call_that_begins_after_its_session_was_erased_does_not_keep_its_name(
    db: Connection, tenant: UUID
) -> None:
    """Such as that of the next model, where the first one failed."""
    scope = Scope(db, tenant)
    erase_session(scope, "s")
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    settle(scope, call_id, FAILED, now=NOW)
    assert (row_of(db, call_id).detail, row_of(db, call_id).session_id) == (None, None)


@pytest.mark.parametrize(
    ("caps", "unit", "scope"),
    [
        (Caps(tenant_tokens_per_day=150), "tokens", "tenant"),
        (Caps(session_tokens_per_day=150), "tokens", "session"),
        (Caps(tenant_usd_per_day=Decimal("0.015")), "usd", "tenant"),
        (Caps(session_usd_per_day=Decimal("0.015")), "usd", "session"),
    ],
)
def test_a_used_up_cap_denies_and_says_until_when(
    db: Connection, tenant: UUID, caps: Caps, unit: str, scope: str
) -> None:
    reserve(db, wanted(tenant), caps=caps, now=NOW)
    with pytest.raises(BudgetDeniedError) as denied:
        reserve(db, wanted(tenant), caps=caps, now=NOW)
    assert (denied.value.denial.unit, denied.value.denial.scope) == (unit, scope)
    assert denied.value.retry_at == MIDNIGHT
    assert denied.value.retry_in_s == 5400


def test_a_cap_is_whole_again_the_next_day(db: Connection, tenant: UUID) -> None:
    caps = Caps(tenant_tokens_per_day=150)
    reserve(db, wanted(tenant), caps=caps, now=NOW)
    reserve(db, wanted(tenant), caps=caps, now=MIDNIGHT)


def test_a_call_larger_than_its_cap_never_fits_and_says_so(db: Connection, tenant: UUID) -> None:
    with pytest.raises(BudgetDeniedError) as denied:
        reserve(db, wanted(tenant, tokens=200), caps=Caps(tenant_tokens_per_day=150), now=NOW)
    assert denied.value.retry_at is None
    assert denied.value.retry_in_s == 86_400


def test_one_session_does_not_use_up_anothers_cap(db: Connection, tenant: UUID) -> None:
    caps = Caps(session_tokens_per_day=150)
    lock_sessions(Scope(db, tenant), ["a", "b"])
    reserve(db, wanted(tenant, session_id="a"), caps=caps, now=NOW)
    reserve(db, wanted(tenant, session_id="b"), caps=caps, now=NOW)
    with pytest.raises(BudgetDeniedError):
        reserve(db, wanted(tenant, session_id="a"), caps=caps, now=NOW)


def test_one_tenant_does_not_use_up_anothers_cap(db: Connection, tenant: UUID) -> None:
    caps = Caps(tenant_tokens_per_day=150, session_tokens_per_day=150)
    reserve(db, wanted(tenant), caps=caps, now=NOW)
    reserve(db, wanted(ensure_tenant(db, f"other-{uuid4()}")), caps=caps, now=NOW)


def test_a_failed_call_that_cost_nothing_gives_its_share_back(db: Connection, tenant: UUID) -> None:
    caps = Caps(tenant_tokens_per_day=150)
    call_id = reserve(db, wanted(tenant), caps=caps, now=NOW)
    free = Settlement(latency_s=0.1, failure="rate-limit", charged_tokens=0, charged_usd=Decimal(0))
    settle(Scope(db, tenant), call_id, free, now=NOW)
    reserve(db, wanted(tenant), caps=caps, now=NOW)


@pytest.fixture
def committed_tenant(empty_db: Engine) -> UUID:
    with empty_db.begin() as db:
        return ensure_tenant(db, "shared")


def test_two_reservations_cannot_both_take_the_last_of_a_cap(
    empty_db: Engine, committed_tenant: UUID
) -> None:
    caps = Caps(tenant_tokens_per_day=550)
    start = threading.Barrier(8)
    admitted: list[UUID] = []

    def ask() -> None:
        start.wait()
        try:
            with empty_db.begin() as db:
                admitted.append(reserve(db, wanted(committed_tenant), caps=caps, now=NOW))
        except BudgetDeniedError:
            pass

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 5


def test_a_call_cut_off_by_a_crash_becomes_lost_and_keeps_its_charge(db: Connection, tenant: UUID) -> None:
    long_ago = datetime.now(UTC) - timedelta(seconds=1000)
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=long_ago)
    assert sweep_lost(db, older_than_s=900) == 1
    row = row_of(db, call_id)
    assert (row.state, row.charged_tokens) == ("lost", 100)


def test_a_call_that_may_still_run_is_not_lost(db: Connection, tenant: UUID) -> None:
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=datetime.now(UTC) - timedelta(seconds=800))
    sweep_lost(db, older_than_s=900)
    assert row_of(db, call_id).state == CallState.RESERVED


def test_a_lost_call_that_answers_late_is_settled_with_the_truth(db: Connection, tenant: UUID) -> None:
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=datetime.now(UTC) - timedelta(seconds=1000))
    sweep_lost(db, older_than_s=900)
    assert settle(Scope(db, tenant), call_id, USED, now=NOW)
    assert row_of(db, call_id).state == CallState.OK


def test_a_call_for_a_session_that_is_gone_names_none(db: Connection, tenant: UUID) -> None:
    erase_session(Scope(db, tenant), "s")
    row = row_of(db, reserve(db, wanted(tenant), caps=Caps(session_tokens_per_day=10**6), now=NOW))
    assert (row.session_id, row.charged_tokens) == (None, 100)


def test_a_call_that_is_lost_forgets_a_session_that_is_gone(db: Connection, tenant: UUID) -> None:
    long_ago = datetime.now(UTC) - timedelta(seconds=1000)
    gone, kept = (reserve(db, wanted(tenant, session_id=name), caps=NO_CAPS, now=long_ago) for name in "ss")
    db.execute(update(LlmCall).where(LlmCall.call_id == gone).values(session_id="gone"))
    assert sweep_lost(db, older_than_s=900) == 2
    assert (row_of(db, gone).session_id, row_of(db, kept).session_id) == (None, "s")


@pytest.fixture
def talking(empty_db: Engine, committed_tenant: UUID) -> UUID:
    """A tenant with a session that others see."""
    with empty_db.begin() as db:
        plant_work(db, committed_tenant, "s", 7)
    return committed_tenant


def waits(engine: Engine) -> bool:
    """Whether somebody waits for a lock."""
    with engine.connect() as db:
        return bool(db.execute(text("select 1 from pg_locks where not granted")).first())


def named_sessions(engine: Engine) -> list[str | None]:
    with engine.connect() as db:
        return list(db.execute(select(LlmCall.session_id)).scalars())


def test_a_call_written_down_during_an_erasure_names_no_session(empty_db: Engine, talking: UUID) -> None:
    def ask() -> None:
        with empty_db.begin() as db:
            reserve(db, wanted(talking), caps=NO_CAPS, now=NOW)

    with ThreadPoolExecutor() as pool:
        with empty_db.begin() as db:
            erase_session(Scope(db, talking), "s")
            asked = pool.submit(ask)
            wait_until(lambda: waits(empty_db), within_s=60, what="the call waits for the erasure")
        asked.result()
    assert named_sessions(empty_db) == [None]


def test_an_erasure_sees_a_call_that_is_being_written_down(empty_db: Engine, talking: UUID) -> None:
    def erase() -> None:
        with empty_db.begin() as db:
            erase_session(Scope(db, talking), "s")

    with ThreadPoolExecutor() as pool:
        with empty_db.begin() as db:
            reserve(db, wanted(talking), caps=NO_CAPS, now=NOW)
            erased = pool.submit(erase)
            wait_until(lambda: waits(empty_db), within_s=60, what="the erasure waits for the call")
        erased.result()
    assert named_sessions(empty_db) == [None]


def test_an_erased_session_leaves_its_cost_but_not_its_name(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    lock_sessions(scope, ["gone"])
    call_id = reserve(db, wanted(tenant, session_id="gone"), caps=NO_CAPS, now=NOW)
    assert forget_session(scope, "gone") == 1
    row = row_of(db, call_id)
    assert (row.session_id, row.work_id, row.charged_tokens) == (None, None, 100)


def test_usage_is_summed_by_day_in_utc_purpose_and_model(db: Connection, tenant: UUID) -> None:
    for at, end in ((NOW, USED), (NOW, replace(USED, price_usd=None)), (MIDNIGHT, USED)):
        settle(Scope(db, tenant), reserve(db, wanted(tenant), caps=NO_CAPS, now=at), end, now=at)
    reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    days = usage_by_day(db, tenant, first_day=date(2026, 3, 9), last_day=date(2026, 3, 10))
    assert [(day.day, day.calls) for day in days] == [(date(2026, 3, 10), 1), (date(2026, 3, 9), 3)]
    ninth = days[1]
    assert (ninth.input_tokens, ninth.cached_tokens, ninth.output_tokens, ninth.reasoning_tokens) == (
        160,
        60,
        20,
        8,
    )
    assert (ninth.price_usd, ninth.unpriced_calls) == (Decimal("0.002"), 1)


def test_calls_that_may_be_billed_are_unpriced_whatever_became_of_them(db: Connection, tenant: UUID) -> None:
    """Nobody heard what a lost call and one that timed out took: unknown is not nothing."""
    scope = Scope(db, tenant)
    timed_out, refused, lost = (reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW) for _ in range(3))
    settle(scope, timed_out, Settlement(1.0, failure="timeout"), now=NOW)
    free = Settlement(1.0, failure="bad-key", charged_tokens=0, charged_usd=Decimal(0))
    settle(scope, refused, free, now=NOW)
    sweep_lost(db, older_than_s=0)
    assert row_of(db, lost).state == "lost"
    [day] = usage_by_day(db, tenant, first_day=NOW.date(), last_day=NOW.date())
    assert (day.calls, day.unpriced_calls) == (3, 2)


def test_usage_shows_one_tenant_only(db: Connection, tenant: UUID) -> None:
    other = ensure_tenant(db, f"other-{uuid4()}")
    reserve(db, wanted(other), caps=NO_CAPS, now=NOW)
    assert usage_by_day(db, tenant, first_day=date(2026, 3, 9), last_day=date(2026, 3, 9)) == []


def test_the_database_refuses_a_failure_without_a_reason(db: Connection, tenant: UUID) -> None:
    call_id = reserve(db, wanted(tenant), caps=NO_CAPS, now=NOW)
    with pytest.raises(IntegrityError, match="failed_says_why"):
        db.execute(update(LlmCall).where(LlmCall.call_id == call_id).values(state="failed", settled_at=NOW))
