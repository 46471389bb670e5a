"""Keys: what ends one, and how one takes the place of another without a moment in which none works."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, text

from models import database as session
from models.scope import Scope
from models.tenants.tenant import (
    Caller,
    adopt_key,
    create_key,
    ensure_tenant,
    find_caller,
    list_keys,
    revoke_key,
    rotate_key,
)

DAY = timedelta(days=1)


@pytest.fixture
def tenant(db: Connection) -> UUID:
    return ensure_tenant(db, "first")


def id_of(key: str) -> str:
    return key.split("_")[1]


def pass_time(db: Connection, by: timedelta) -> None:
    """Let every key have been made, and end, so much earlier."""
    db.execute(text("update api_key set expires_at = expires_at - cast(:by as interval)"), {"by": by})


def opens(db: Connection, key: str) -> bool:
    return find_caller(db, key) is not None


def test_a_new_key_works_and_the_old_one_until_the_grace_ends(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    old = create_key(scope, label="platform", scopes=("read", "write"))
    new = rotate_key(scope, id_of(old), grace=DAY)
    assert new is not None
    assert find_caller(db, new) == Caller(tenant, id_of(new), frozenset({"read", "write"}))
    assert opens(db, old)
    pass_time(db, DAY)
    assert (opens(db, old), opens(db, new)) == (False, True)


def test_without_a_grace_the_old_key_is_refused_at_once(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    old = create_key(scope, label="platform")
    new = rotate_key(scope, id_of(old), grace=timedelta())
    assert new is not None
    assert (opens(db, old), opens(db, new)) == (False, True)


def test_a_rotation_never_lengthens_a_life(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    old = create_key(scope, label="platform", lasts=DAY)
    assert rotate_key(scope, id_of(old), grace=30 * DAY)
    pass_time(db, DAY)
    assert not opens(db, old)


def test_a_second_rotation_of_the_same_key_keeps_the_earlier_end(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    old = create_key(scope, label="platform")
    assert rotate_key(scope, id_of(old), grace=DAY)
    assert rotate_key(scope, id_of(old), grace=30 * DAY)
    pass_time(db, DAY)
    assert not opens(db, old)


def test_a_key_ends_by_itself(db: Connection, tenant: UUID) -> None:
    key = create_key(Scope(db, tenant), label="guest", lasts=DAY)
    assert opens(db, key)
    pass_time(db, DAY)
    assert not opens(db, key)


@pytest.mark.parametrize("why", ["revoked", "expired", "unknown", "another tenant's"])
def test_only_a_key_in_force_of_ones_own_is_rotated(db: Connection, tenant: UUID, why: str) -> None:
    scope = Scope(db, tenant)
    key_id = id_of(create_key(scope, label="platform", lasts=timedelta() if why == "expired" else None))
    if why == "revoked":
        revoke_key(scope, key_id)
    whose = ensure_tenant(db, "second") if why == "another tenant's" else tenant
    before = len(list_keys(scope))
    assert rotate_key(Scope(db, whose), "0" * 12 if why == "unknown" else key_id, grace=DAY) is None
    assert (len(list_keys(scope)), list_keys(Scope(db, whose)) if whose != tenant else []) == (before, [])


def test_a_list_says_how_each_key_stands(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    for lasts in (None, DAY, timedelta()):
        create_key(scope, label="one", lasts=lasts)
    revoke_key(scope, id_of(create_key(scope, label="one")))
    states = [key.state(datetime.now(UTC)) for key in list_keys(scope)]
    assert sorted(state.rsplit(" ", 2)[0] if "2" in state else state for state in states) == [
        *("expired", "in force", "in force until", "revoked"),
    ]


def test_neither_the_table_nor_the_list_holds_a_secret(empty_db: Engine) -> None:
    del empty_db
    with session.transaction() as db:
        tenant = ensure_tenant(db, "first")
        old = create_key(Scope(db, tenant), label="platform")
        new = rotate_key(Scope(db, tenant), id_of(old), grace=DAY)
        assert new is not None
        rows = str(db.execute(text("select t::text from api_key t")).scalars().all())
    secrets = [key.split("_", 2)[2] for key in (old, new)]
    assert all(secret not in rows and secret.encode().hex() not in rows for secret in secrets)


MADE = "aft_0123456789ab_" + "5" * 64


def test_a_key_made_elsewhere_opens_a_tenant_that_never_had_one(db: Connection, tenant: UUID) -> None:
    assert adopt_key(Scope(db, tenant), MADE, label="first")
    caller = find_caller(db, MADE)
    assert caller is not None
    assert (caller.tenant_id, caller.key_id) == (tenant, "0123456789ab")
    assert not opens(db, MADE[:-1])


def test_a_tenant_with_a_key_even_a_revoked_one_takes_over_none(db: Connection, tenant: UUID) -> None:
    scope = Scope(db, tenant)
    old = create_key(scope, label="platform")
    revoke_key(scope, id_of(old))
    assert not adopt_key(scope, MADE, label="first")
    assert not opens(db, MADE)


@pytest.mark.parametrize("key", ["", "secret", MADE[:40], MADE.upper(), f"{MADE} ", f"{MADE[:-1]}ä"])
def test_a_key_of_another_form_is_refused_unseen(db: Connection, tenant: UUID, key: str) -> None:
    scope = Scope(db, tenant)
    with pytest.raises(ValueError, match="a key is aft_ID_SECRET") as refused:
        adopt_key(scope, key, label="first")
    assert not key or key not in str(refused.value)
    assert list_keys(scope) == []
