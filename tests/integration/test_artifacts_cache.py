"""The focus cache: one entry a question, kept for a time and within a size, gone with what it came from."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, text

from models.artifacts.artifact import drop_unused
from models.artifacts.plan import (
    PlanKey,
    PlanState,
    PlanWish,
    drop_session_plans,
    find_plan,
    store_plan,
    take_wanted_plans,
    want_plan,
)
from models.artifacts.summary import (
    MadeSummary,
    ReadingState,
    SummaryKey,
    Wish,
    store_made,
    take_wanted,
    want_summary,
)
from models.artifacts.summary_cache import evict, expire
from models.artifacts.summary_lookup import Maker, load_ready
from models.erasure.sessions import erase_session
from models.hints import Hints, leave_hints
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.artifacts import find_candidates, find_exact, store_document

pytestmark = pytest.mark.usefixtures("one_day")

WISHED = SummaryKey("", "wind", "medium", "en")
MADE = MadeSummary("gpt-4o-mini", "1", "en", "Stopped by wind.", 4, 5, "asked", (uuid4(),))


@pytest.fixture
def tenant(db: Connection) -> UUID:
    """A tenant of the test's own."""
    return ensure_tenant(db, "cache")


@pytest.fixture
def key(db: Connection, tenant: UUID) -> SummaryKey:
    """What a stored document may be asked."""
    return replace(WISHED, artifact_id=store_document(db, tenant, "The crane was stopped by the wind."))


def wish_of(key: SummaryKey, origin: str = "asked", session_id: str | None = None) -> Wish:
    return Wish(key, f"about {key.focus_key}", [key.focus_key], origin, session_id)


def make(db: Connection, tenant: UUID, key: SummaryKey, made: MadeSummary = MADE, **wish: Any) -> SummaryKey:
    """Ask and answer."""
    scope = Scope(db, tenant)
    want_summary(scope, wish_of(key, **wish), ttl_s=60)
    assert store_made(scope, key, made, ttl_s=60)
    return replace(key, model=made.model, prompt_version=made.prompt_version, language=made.language)


def keys(db: Connection) -> list[str]:
    return list(db.execute(text("select focus_key from artifact_summary order by focus_key")).scalars())


def age(db: Connection, seconds: float = 3_600) -> None:
    """Let time pass: an open transaction's clock stands still."""
    past = "- make_interval(secs => :s)"
    db.execute(
        text(
            f"update artifact_summary set expires_at = expires_at {past}, ready_at = ready_at {past}, "  # noqa: S608
            f"used_at = used_at {past}, created_at = created_at {past}"
        ),
        {"s": seconds},
    )


def test_a_wish_becomes_an_entry_under_the_key_of_what_wrote_it(
    db: Connection, tenant: UUID, key: SummaryKey
) -> None:
    scope = Scope(db, tenant)
    assert want_summary(scope, wish_of(key), ttl_s=60) is ReadingState.WANTED
    assert want_summary(scope, wish_of(key), ttl_s=60) is ReadingState.WANTED
    (wish,) = take_wanted(scope, key.artifact_id, most=5)
    assert wish == wish_of(key)
    assert store_made(scope, wish.key, MADE, ttl_s=60)
    assert take_wanted(scope, key.artifact_id, most=5) == []
    found = find_exact(db, tenant, [key.artifact_id], "wind")[key.artifact_id]
    assert found.key == replace(key, model="gpt-4o-mini", prompt_version="1")
    assert (found.text, found.tokens, found.tokens_wide, found.focus) == (MADE.text, 4, 5, "about wind")
    assert found.call_ids == list(MADE.call_ids)
    assert load_ready(scope, [found.key]) == {found.key: found}


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("focus_key", "rain"),
        ("size_class", "long"),
        ("language", "de"),
        ("model", "other"),
        ("prompt_version", "2"),
    ],
)
def test_an_entry_answers_no_key_but_its_own(
    db: Connection, tenant: UUID, key: SummaryKey, part: str, other: str
) -> None:
    own = make(db, tenant, key)
    asked = replace(own, **{part: other})
    for one in (own, asked):
        found = find_exact(db, tenant, [key.artifact_id], one.focus_key, Maker(one.model, one.prompt_version))
        assert bool(found) is (one == own or part in ("size_class", "language"))
    assert load_ready(Scope(db, tenant), [asked]) == {}


def test_another_tenants_entry_answers_nothing(db: Connection, tenant: UUID, key: SummaryKey) -> None:
    own = make(db, tenant, key)
    stranger = ensure_tenant(db, "stranger")
    store_document(db, stranger, "The crane was stopped by the wind.")
    assert find_exact(db, stranger, [key.artifact_id], "wind") == {}
    assert find_candidates(db, stranger, [key.artifact_id]) == []
    assert load_ready(Scope(db, stranger), [own]) == {}


def test_the_likeliest_wishes_are_taken_first(db: Connection, tenant: UUID, key: SummaryKey) -> None:
    scope = Scope(db, tenant)
    for origin in ("general", "mined", "turn", "asked", "open_work", "request"):
        want_summary(scope, wish_of(replace(key, focus_key=origin), origin), ttl_s=60)
    taken = take_wanted(scope, key.artifact_id, most=4)
    assert [wish.origin for wish in taken] == ["asked", "request", "turn", "open_work"]


def test_a_rejected_entry_answers_nothing_and_is_not_tried_again_by_a_guess(
    db: Connection, tenant: UUID, key: SummaryKey
) -> None:
    scope = Scope(db, tenant)
    rejected = MadeSummary("", "", "en", rejected_because="not smaller than the artifact")
    make(db, tenant, key, rejected)
    assert find_exact(db, tenant, [key.artifact_id], "wind") == {}
    assert want_summary(scope, wish_of(key), ttl_s=60) is ReadingState.REJECTED
    assert want_summary(scope, wish_of(key), ttl_s=60, again=True) is ReadingState.WANTED


def test_the_result_of_a_wish_that_is_gone_is_thrown_away(
    db: Connection, tenant: UUID, key: SummaryKey
) -> None:
    scope = Scope(db, tenant)
    assert not store_made(scope, key, MADE, ttl_s=60)
    db.execute(text("insert into session (tenant_id, session_id) values (:t, 's1')"), {"t": tenant})
    want_summary(scope, wish_of(key, "turn", "s1"), ttl_s=60)
    erase_session(scope, "s1")
    assert not store_made(scope, key, MADE, ttl_s=60)
    assert keys(db) == []


def test_what_is_over_its_time_answers_nothing_is_asked_anew_and_is_swept(
    db: Connection, tenant: UUID, key: SummaryKey
) -> None:
    own = make(db, tenant, key)
    make(db, tenant, replace(key, focus_key="rain"))
    age(db)
    assert find_exact(db, tenant, [key.artifact_id], "wind") == {}
    assert find_candidates(db, tenant, [key.artifact_id]) == []
    assert want_summary(Scope(db, tenant), wish_of(own), ttl_s=60) is ReadingState.WANTED
    assert expire(db, most=10) == 1
    assert keys(db) == ["wind"]


def test_expiry_goes_in_bounded_steps(db: Connection, tenant: UUID, key: SummaryKey) -> None:
    for number in range(5):
        make(db, tenant, replace(key, focus_key=f"f{number}"))
    age(db)
    assert [expire(db, most=2) for _ in range(4)] == [2, 2, 1, 0]


def test_the_least_recently_read_entries_make_room(db: Connection, tenant: UUID, key: SummaryKey) -> None:
    made = replace(MADE, text="x" * 100)
    entries = []
    for number in range(6):
        age(db, 1)
        entries.append(make(db, tenant, replace(key, focus_key=f"f{number}"), made))
    leave_hints(Scope(db, tenant), Hints(summaries=[entries[1]]))
    assert evict(db, most_bytes=600, most=10) == 0
    assert evict(db, most_bytes=250, most=3) == 3
    assert evict(db, most_bytes=250, most=3) == 1
    assert evict(db, most_bytes=250, most=3) == 0
    assert keys(db) == ["f1", "f5"]


def test_one_tenants_size_is_not_counted_against_another(
    db: Connection, tenant: UUID, key: SummaryKey
) -> None:
    make(db, tenant, key, replace(MADE, text="x" * 100))
    other = ensure_tenant(db, "other")
    theirs = replace(key, artifact_id=store_document(db, other, "Something else."))
    make(db, other, theirs, replace(MADE, text="x" * 100))
    assert evict(db, most_bytes=150, most=10) == 0


def test_what_was_asked_in_a_sessions_words_goes_with_it(
    db: Connection, tenant: UUID, key: SummaryKey
) -> None:
    for name in ("s1", "s2"):
        db.execute(
            text("insert into session (tenant_id, session_id) values (:t, :s)"), {"t": tenant, "s": name}
        )
        make(db, tenant, replace(key, focus_key=name), origin="turn", session_id=name)
    make(db, tenant, replace(key, focus_key="general"), origin="general")
    for name in ("s1", "s2"):
        erase_session(Scope(db, tenant), name)
    assert keys(db) == ["general"]


def test_what_was_read_out_of_an_artifact_goes_with_it(db: Connection, tenant: UUID, key: SummaryKey) -> None:
    make(db, tenant, key)
    db.execute(text("delete from artifact_attachment"))
    assert drop_unused(Scope(db, tenant), [key.artifact_id]) == [key.artifact_id]
    assert keys(db) == []


def test_readings_add_up_by_day_and_way(db: Connection, tenant: UUID) -> None:
    for counts in ({"exact": 2, "near": 0, "none": 1}, {"exact": 3}, {}):
        leave_hints(Scope(db, tenant), Hints(readings=counts))
    today = db.execute(text("select current_date")).scalar_one()
    counted = db.execute(text("select how, readings from artifact_reading where day = :day"), {"day": today})
    assert dict(tuple(one) for one in counted) == {"exact": 5, "none": 1}


@pytest.fixture
def plan(db: Connection, tenant: UUID) -> PlanKey:
    """A question over some artifacts, in a session."""
    db.execute(text("insert into session (tenant_id, session_id) values (:t, 's1')"), {"t": tenant})
    return PlanKey("s1", "q1", "d1")


def wish_plan(db: Connection, tenant: UUID, key: PlanKey, **more: Any) -> PlanState:
    return want_plan(Scope(db, tenant), key, PlanWish(["art_1"], "why?", 900, model="m"), **more)


def test_a_plan_is_wanted_made_and_found(db: Connection, tenant: UUID, plan: PlanKey) -> None:
    scope = Scope(db, tenant)
    assert wish_plan(db, tenant, plan) is PlanState.WANTED
    (wanted,) = take_wanted_plans(scope, "s1", most=5)
    assert (wanted.key, wanted.question, wanted.budget_tokens, wanted.plan) == (plan, "why?", 900, None)
    calls = [uuid4()]
    assert store_plan(scope, plan, plan={"artifacts": []}, call_ids=calls)
    found = find_plan(scope, plan)
    assert found is not None
    assert (found.state, found.plan, found.call_ids) == (PlanState.READY, {"artifacts": []}, calls)
    assert wish_plan(db, tenant, plan) is PlanState.READY
    assert not store_plan(scope, plan, plan={"artifacts": ["late"]})


def test_a_plan_that_failed_says_why_and_is_wanted_again(db: Connection, tenant: UUID, plan: PlanKey) -> None:
    scope = Scope(db, tenant)
    wish_plan(db, tenant, plan)
    assert store_plan(scope, plan, plan=None, reason="empty answer")
    found = find_plan(scope, plan)
    assert found is not None
    assert (found.state, found.reason) == (PlanState.FAILED, "empty answer")
    assert wish_plan(db, tenant, plan) is PlanState.WANTED


def test_a_session_keeps_its_newest_plans(db: Connection, tenant: UUID, plan: PlanKey) -> None:
    scope = Scope(db, tenant)
    for number in range(6):
        db.execute(text("update artifact_plan set created_at = created_at - interval '1 s'"))
        wish_plan(db, tenant, replace(plan, question_key=f"q{number}"), most=3)
    kept = take_wanted_plans(scope, "s1", most=10)
    assert [row.key.question_key for row in kept] == ["q5", "q4", "q3"]
    assert drop_session_plans(scope, "s1") == 3
