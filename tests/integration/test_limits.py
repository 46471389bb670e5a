"""Learned limits: each session's own, agreed on for all, raised by larger calls, gone after hours."""

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from models.conversations.session import find_session, lock_sessions
from models.conversations.standing import SessionSnapshot, find_standing
from models.database import database_now
from models.ledger.call import Reservation, Settlement, reserve, settle
from models.ledger.caps import Caps
from models.providers.context_limit import (
    LIMIT_HOURS,
    Sighting,
    SightingSource,
    find_limit,
    forget_expired_limits,
    has_lower_limit,
    learn_limit,
    outdo_limits,
)
from models.providers.limit_report import forget_limits, list_limits, set_limit
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant

MODEL = "gpt-4o"
FLOOR = 64_000


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "limits")


def learn(
    db: Connection,
    tenant: UUID,
    tokens: int,
    session_id: str = "s1",
    model: str = MODEL,
    *,
    key_id: str | None = None,
) -> int:
    seen = Sighting(model, session_id, tokens, SightingSource.ERROR, key_id)
    return learn_limit(Scope(db, tenant), seen, floor_tokens=FLOOR)


def agree(
    db: Connection,
    tenant: UUID,
    *limits: int,
    users: str = "abcdefgh",
    keys: str = "kkkkkkkk",
    models: Sequence[str] = (MODEL,) * 8,
    answered_by: str | None = None,
) -> int | None:
    """Let sessions of these users see these limits. Returns the limit of a session that saw none."""
    scope = Scope(db, tenant)
    for number, (tokens, user) in enumerate(zip(limits, users, strict=False)):
        session_id = f"of {user} {number}"
        lock_sessions(scope, [session_id])
        db.execute(
            text(
                "insert into turn (tenant_id, session_id, turn_index, turn_id, body_sha256, generation, "
                "first_seq, last_seq, tokens, user_id, model) "
                "values (:t, :s, 1, 't', sha256(''), 1, 1, 1, 1, :u, :m)"
            ),
            {"t": tenant, "s": session_id, "u": user.strip() or None, "m": answered_by},
        )
        learn(db, tenant, tokens, session_id, models[number], key_id=keys[number])
    return find_limit(scope, MODEL, "another")


@pytest.mark.parametrize(
    ("keys", "told_by", "held"),
    [(1, "kkk", 100_000), (2, "kkk", None), (2, "kkl", 100_000), (5, "kll", 100_000)],
)
def test_of_several_keys_one_alone_sets_nothing_for_all(
    db: Connection, tenant: UUID, keys: int, told_by: str, held: int | None
) -> None:
    scope = Scope(db, tenant)
    for _ in range(keys):
        create_key(scope, label="one of them", scopes=("read", "write"))
    create_key(scope, label="it only reads", scopes=("read",))
    assert agree(db, tenant, 100_000, 100_000, 100_000, keys=told_by) == held


@pytest.mark.parametrize(
    ("answered_by", "held"),
    [(None, 100_000), (MODEL, 100_000), ("openai/gpt-4o-2024-11-20", 100_000), ("gpt-4o-mini", None)],
)
def test_a_session_whose_turns_another_model_answered_agrees_with_nobody(
    db: Connection, tenant: UUID, answered_by: str | None, held: int | None
) -> None:
    assert agree(db, tenant, 100_000, 100_000, 100_000, answered_by=answered_by) == held


NAMES = ("gpt-4o", "openai/gpt-4o", "azure/gpt-4o-2024-11-20", "GPT-4o-2024-08-06")


@pytest.mark.parametrize("asked", NAMES)
def test_all_names_of_a_model_share_what_was_learned(db: Connection, tenant: UUID, asked: str) -> None:
    scope = Scope(db, tenant)
    assert agree(db, tenant, 100_000, 100_000, 100_000, models=NAMES[1:]) == 100_000
    learn(db, tenant, 8_192, "s1", NAMES[2])
    lock_sessions(scope, ["s1"])
    assert find_limit(scope, asked, "s1") == 8_192
    assert standing(db, tenant, asked).learned_limit == 8_192
    assert find_limit(scope, "gpt-4o-mini", "s1") is None
    assert {one.limit_tokens for one in list_limits(scope, model=asked)} == {8_192, 100_000}
    outdo_limits(scope, asked, 100_001)
    assert find_limit(scope, MODEL, "s1") is None
    assert find_limit(scope, MODEL) is None


def test_an_operators_word_about_the_very_name_comes_first(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    set_limit(scope, "azure/gpt-4o", 32_000)
    set_limit(scope, "gpt-4o", 100_000)
    names = ("azure/gpt-4o", "gpt-4o", "openai/gpt-4o-2024-11-20")
    assert [find_limit(scope, name) for name in names] == [32_000, 100_000, 32_000]
    assert forget_limits(scope, model="gpt-4o") == 2


def test_what_another_session_reports_ends_an_agreement_and_leaves_each_session_its_own(
    db: Connection, tenant: UUID
) -> None:
    scope = Scope(db, tenant)
    assert agree(db, tenant, 100_000, 100_000, 100_000) == 100_000
    assert has_lower_limit(scope, MODEL, 10**9, "of a 0")
    outdo_limits(scope, MODEL, 10**9, "of a 0")
    assert find_limit(scope, MODEL, "another") is None
    assert find_limit(scope, MODEL, "of a 0") is None
    assert find_limit(scope, MODEL, "of b 1") == 100_000
    assert agree(db, tenant, 100_000, users="z") is None
    outdo_limits(scope, MODEL, 100_001, "of b 1")
    assert find_limit(scope, MODEL, "of b 1") is None


def age(db: Connection, hours: float) -> None:
    for table, column in (("limit_sighting", "seen_at"), ("model_limit", "learned_at")):
        db.execute(
            text(f"update {table} set {column} = {column} - :h * interval '1 hour'"),  # noqa: S608 (names of ours)
            {"h": hours},
        )


def call(db: Connection, tenant: UUID, tokens: int, failure: str | None = None) -> None:
    """Have the ledger hold a call of so many tokens."""
    now = database_now(db)
    asked = Reservation(tenant, "summary", MODEL, tokens, Decimal(0))
    call_id = reserve(db, asked, caps=Caps(), now=now)
    assert settle(Scope(db, tenant), call_id, Settlement(0.1, failure=failure, input_tokens=tokens), now=now)


def standing(db: Connection, tenant: UUID, model: str | None) -> SessionSnapshot:
    found = find_standing(Scope(db, tenant), "s1", model)
    assert found is not None
    return found


def test_a_model_that_refused_nothing_has_no_limit(db: Connection, tenant: UUID) -> None:
    assert find_limit(Scope(db, tenant), MODEL, "s1") is None


def test_what_a_session_saw_holds_for_it_at_once_and_for_nobody_else(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    assert learn(db, tenant, 8_192) == 8_192
    assert find_limit(scope, MODEL, "s1") == 8_192
    assert find_limit(scope, MODEL, "s2") is None
    assert find_limit(scope, MODEL) is None
    assert find_limit(scope, "gpt-4o-mini", "s1") is None
    assert find_limit(Scope(db, ensure_tenant(db, "others")), MODEL, "s1") is None


def test_a_lower_limit_replaces_a_higher_one_and_not_the_other_way(db: Connection, tenant: UUID) -> None:
    assert [learn(db, tenant, tokens) for tokens in (32_000, 8_192, 16_000)] == [32_000, 8_192, 8_192]


def test_a_limit_ends_hours_after_it_was_last_seen(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    learn(db, tenant, 8_192)
    age(db, LIMIT_HOURS - 0.1)
    assert find_limit(scope, MODEL, "s1") == 8_192
    learn(db, tenant, 8_192)
    age(db, LIMIT_HOURS - 0.1)
    assert find_limit(scope, MODEL, "s1") == 8_192
    age(db, 0.2)
    assert find_limit(scope, MODEL, "s1") is None
    assert learn(db, tenant, 32_000) == 32_000
    assert forget_expired_limits(db) == 0
    age(db, LIMIT_HOURS)
    assert forget_expired_limits(db) == 1


@pytest.mark.parametrize(
    ("limits", "users", "held"),
    [
        ([100_000, 100_000], "ab", None),
        ([100_000, 100_000, 100_000], "aab", None),
        ([100_000, 100_000, 100_000], "ab ", None),
        ([100_000, 100_000, 100_000], "abc", 100_000),
        ([90_000, 95_000, 100_000], "abc", 100_000),
        ([89_999, 95_000, 100_000], "abc", None),
        ([1_600, 100_000, 100_000, 100_000], "abcd", 100_000),
        ([1_600, 1_600, 1_600], "abc", FLOOR),
        ([FLOOR - 1, FLOOR - 1, FLOOR - 1], "abc", FLOOR),
        ([FLOOR + 1, FLOOR + 1, FLOOR + 1], "abc", FLOOR + 1),
    ],
)
def test_a_limit_holds_for_all_where_three_users_agree_and_never_below_the_floor(
    db: Connection, tenant: UUID, limits: list[int], users: str, held: int | None
) -> None:
    assert agree(db, tenant, *limits, users=users) == held


def test_agreement_counts_what_was_seen_within_the_hours_alone(db: Connection, tenant: UUID) -> None:
    agree(db, tenant, 100_000, 100_000)
    age(db, LIMIT_HOURS)
    assert agree(db, tenant, 100_000, users="z") is None


def test_what_was_agreed_ends_with_the_hours(db: Connection, tenant: UUID) -> None:
    assert agree(db, tenant, 100_000, 100_000, 100_000) == 100_000
    age(db, LIMIT_HOURS)
    assert find_limit(Scope(db, tenant), MODEL, "another") is None


def test_only_an_operator_sets_less_and_no_call_raises_it(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    set_limit(scope, MODEL, 4_000)
    assert agree(db, tenant, 100_000, 100_000, 100_000) == 4_000
    outdo_limits(scope, MODEL, 200_000)
    age(db, LIMIT_HOURS * 100)
    assert find_limit(scope, MODEL, "another") == 4_000


@pytest.mark.parametrize(("tokens", "held"), [(100_000, 100_000), (100_001, None)])
def test_a_larger_call_that_succeeded_raises_what_was_learned(
    db: Connection, tenant: UUID, tokens: int, held: int | None
) -> None:
    scope = Scope(db, tenant)
    agree(db, tenant, 100_000, 100_000, 100_000)
    call(db, tenant, tokens)
    assert find_limit(scope, MODEL, "another") == held
    assert find_limit(scope, MODEL, "of a 0") == held


def test_a_call_that_failed_raises_nothing(db: Connection, tenant: UUID) -> None:
    learn(db, tenant, 8_192)
    call(db, tenant, 100_000, failure="context-length")
    assert find_limit(Scope(db, tenant), MODEL, "s1") == 8_192


def test_a_limit_that_was_outdone_counts_no_more_for_others(db: Connection, tenant: UUID) -> None:
    agree(db, tenant, 100_000, 100_000)
    outdo_limits(Scope(db, tenant), MODEL, 110_000)
    assert agree(db, tenant, 100_000, users="z") is None


def test_a_limit_that_comes_back_after_it_was_outdone_stays_for_its_session(
    db: Connection, tenant: UUID
) -> None:
    scope = Scope(db, tenant)
    learn(db, tenant, 8_192)
    outdo_limits(scope, MODEL, 20_000)
    assert find_limit(scope, MODEL, "s1") is None
    learn(db, tenant, 8_192)
    outdo_limits(scope, MODEL, 20_000)
    assert find_limit(scope, MODEL, "s1") == 8_192
    age(db, LIMIT_HOURS)
    assert find_limit(scope, MODEL, "s1") is None


def test_what_the_ledger_contradicts_holds_for_its_session_and_counts_for_no_other(
    db: Connection, tenant: UUID
) -> None:
    call(db, tenant, 110_000)
    assert agree(db, tenant, 100_000, 100_000, 100_000) is None
    assert find_limit(Scope(db, tenant), MODEL, "of a 0") == 100_000


def test_limits_are_listed_and_forgotten(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    set_limit(scope, "mine", 4_000)
    learn(db, tenant, 8_192)
    learn(db, tenant, 9_000, "s2")
    listed = [(one.model, one.limit_tokens, one.source, one.session_id) for one in list_limits(scope)]
    assert listed[0] == ("mine", 4_000, "operator", None)
    assert sorted(listed[1:], key=str) == [
        (MODEL, 8_192, "error", "s1"),
        (MODEL, 9_000, "error", "s2"),
    ]
    assert forget_limits(scope, session_id="s2") == 1
    assert find_limit(scope, MODEL, "s1") == 8_192
    assert forget_limits(scope, model=MODEL) == 1
    assert forget_limits(scope) == 1
    assert list_limits(scope) == []


def test_a_session_stands_with_the_limit_of_the_model_that_is_asked_about(
    db: Connection, tenant: UUID
) -> None:
    lock_sessions(Scope(db, tenant), ["s1"])
    learn(db, tenant, 8_192)
    assert standing(db, tenant, MODEL).learned_limit == 8_192
    assert standing(db, tenant, "another").learned_limit is None
    assert standing(db, tenant, None).learned_limit is None


def test_the_background_goes_by_the_limit_of_the_model_that_answered_last(
    db: Connection, tenant: UUID
) -> None:
    scope = Scope(db, tenant)
    lock_sessions(scope, ["s1"])
    learn(db, tenant, 4_000)
    db.execute(
        text("update session set model = :m, context_window = 128000, max_tokens = 8000"), {"m": MODEL}
    )
    budget = standing(db, tenant, None).budget
    assert budget.context_window == 4_000
    assert budget.max_tokens == 1_000
    session = find_session(scope, "s1")
    assert session is not None
    assert session.budget.context_window == 128_000
