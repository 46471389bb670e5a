"""Learned limits: the lowest seen lately holds, for its tenant and model alone, and not for ever."""

from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from models.conversation import find_session, lock_sessions
from models.freshness import Standing, find_standing
from models.limit import LIMIT_DAYS, LimitSource, find_limit, learn_limit
from models.tenant import ensure_tenant

MODEL = "gpt-4o"


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "limits")


def learn(db: Connection, tenant: UUID, tokens: int, model: str = MODEL) -> int:
    return learn_limit(db, tenant, model, tokens, LimitSource.ERROR)


def age(db: Connection, days: float) -> None:
    db.execute(text("update model_limit set learned_at = learned_at - :d * interval '1 day'"), {"d": days})


def standing(db: Connection, tenant: UUID, model: str | None) -> Standing:
    found = find_standing(db, tenant, "s1", model)
    assert found is not None
    return found


def test_a_model_that_refused_nothing_has_no_limit(db: Connection, tenant: UUID) -> None:
    assert find_limit(db, tenant, MODEL) is None


def test_what_was_learned_is_found_again(db: Connection, tenant: UUID) -> None:
    assert learn(db, tenant, 8_192) == 8_192
    assert find_limit(db, tenant, MODEL) == 8_192


def test_a_lower_limit_replaces_a_higher_one_and_not_the_other_way(db: Connection, tenant: UUID) -> None:
    assert [learn(db, tenant, tokens) for tokens in (32_000, 8_192, 16_000)] == [32_000, 8_192, 8_192]
    assert find_limit(db, tenant, MODEL) == 8_192


def test_a_limit_is_of_one_tenant_and_one_model(db: Connection, tenant: UUID) -> None:
    learn(db, tenant, 8_192)
    assert find_limit(db, tenant, "gpt-4o-mini") is None
    assert find_limit(db, ensure_tenant(db, "others"), MODEL) is None


def test_a_limit_that_nobody_has_seen_for_days_is_out_of_force(db: Connection, tenant: UUID) -> None:
    learn(db, tenant, 8_192)
    age(db, LIMIT_DAYS - 0.1)
    assert find_limit(db, tenant, MODEL) == 8_192
    age(db, 0.2)
    assert find_limit(db, tenant, MODEL) is None


def test_after_that_a_refusal_may_teach_a_higher_one(db: Connection, tenant: UUID) -> None:
    learn(db, tenant, 8_192)
    age(db, LIMIT_DAYS + 0.1)
    assert learn(db, tenant, 32_000) == 32_000


def test_seeing_the_same_limit_again_keeps_it_in_force_and_seeing_a_higher_one_does_not(
    db: Connection, tenant: UUID
) -> None:
    learn(db, tenant, 8_192)
    age(db, LIMIT_DAYS - 1)
    learn(db, tenant, 32_000)
    learn(db, tenant, 8_192)
    age(db, LIMIT_DAYS - 1)
    assert find_limit(db, tenant, MODEL) == 8_192
    learn(db, tenant, 32_000)
    age(db, 2)
    assert find_limit(db, tenant, MODEL) is None


def test_a_session_stands_with_the_limit_of_the_model_that_is_asked_about(
    db: Connection, tenant: UUID
) -> None:
    lock_sessions(db, tenant, ["s1"])
    learn(db, tenant, 8_192)
    assert standing(db, tenant, MODEL).learned_limit == 8_192
    assert standing(db, tenant, "another").learned_limit is None
    assert standing(db, tenant, None).learned_limit is None


def test_the_background_goes_by_the_limit_of_the_model_that_answered_last(
    db: Connection, tenant: UUID
) -> None:
    lock_sessions(db, tenant, ["s1"])
    learn(db, tenant, 4_000)
    db.execute(
        text("update session set model = :m, context_window = 128000, max_tokens = 8000"), {"m": MODEL}
    )
    budget = standing(db, tenant, None).budget
    assert budget.context_window == 4_000
    assert budget.max_tokens == 1_000
    session = find_session(db, tenant, "s1")
    assert session is not None
    assert session.budget.context_window == 128_000
