"""With a key, nobody can try a question on what is stored of it; who asks finds the same as before."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.focus import focus_key, normalise
from models import database as session
from models.artifacts.plan import PlanKey, PlanWish, find_plan, store_plan, take_wanted_plans, want_plan
from models.artifacts.summary import SummaryKey, Wish, want_summary
from models.rekeying.rotation import change_rows, rotate_keys
from models.scope import Scope
from tests.integration.erasing import tables_with, talk
from tests.integration.sealing import FIRST, SECOND, Environment
from tests.integration.test_erase_asked import ask, fulfil, upload

FOCUS = "Where is the harbour?"
KEY = focus_key(FOCUS)


def read(client: TestClient, artifact_id: str) -> dict[str, Any]:
    answer = client.get(f"/v1/artifacts/{artifact_id}/summaries", params={"focus": FOCUS})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def change(tenant_id: UUID, to: Any) -> None:
    assert list(change_rows(session.transaction, tenant_id, to=to))


def test_a_focus_is_found_by_a_key_that_nobody_else_can_compute(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    artifact_id = upload(client)
    assert ask(client, artifact_id, FOCUS)["focus_key"] == KEY
    fulfil(tenant_id, artifact_id)
    assert tables_with(KEY) == {}
    keys.use(SECOND, FIRST)
    assert list(rotate_keys(session.transaction)) == [1]
    keys.use(SECOND)
    told = read(client, artifact_id)
    assert (told["match"], told["focus"], told["focus_key"]) == ("exact", FOCUS, KEY)
    assert ask(client, artifact_id, FOCUS)["state"] == "ready"


def test_what_was_asked_before_there_was_a_key_is_found_and_is_keyed_with_all_else(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    keys.use()
    artifact_id = upload(client)
    ask(client, artifact_id, FOCUS)
    fulfil(tenant_id, artifact_id)
    before = read(client, artifact_id)
    keys.use(FIRST)
    assert read(client, artifact_id) == before
    assert ask(client, artifact_id, FOCUS)["state"] == "ready"
    change(tenant_id, "sealed")
    assert tables_with(KEY) == {}
    assert read(client, artifact_id) == before
    keys.use(FIRST, sealing=False)
    change(tenant_id, "plain")
    assert tables_with(KEY) == {"artifact_summary": 1}
    assert read(client, artifact_id) == before


def test_what_was_asked_both_ways_stays_once(client: TestClient, tenant_id: UUID, keys: Environment) -> None:
    artifact_id = upload(client)
    for used in ((), (FIRST,)):
        keys.use(*used)
        with session.transaction() as db:
            key = SummaryKey(artifact_id, KEY, "medium", "en")
            if not used:
                db.execute(text("delete from text_key"))
            want_summary(Scope(db, tenant_id), Wish(key, FOCUS, normalise(FOCUS).terms, "asked"), ttl_s=600)
    keys.use(FIRST)
    change(tenant_id, "sealed")
    with session.read_transaction() as db:
        assert db.execute(text("select count(*) from artifact_summary")).scalar() == 1


@pytest.mark.parametrize("first", [(), (FIRST,)], ids=["plain", "keyed"])
def test_what_was_foreseen_in_words_of_a_session_goes_with_them_either_way(
    client: TestClient, tenant_id: UUID, keys: Environment, first: tuple[str, ...]
) -> None:
    keys.use(*first)
    artifact_id = upload(client)
    with session.transaction() as db:
        key = SummaryKey(artifact_id, KEY, "large", "en")
        want_summary(Scope(db, tenant_id), Wish(key, FOCUS, normalise(FOCUS).terms, "mined"), ttl_s=600)
    keys.use(FIRST, sealing=not first)
    ask(client, artifact_id, FOCUS, session_id="walk")
    with session.read_transaction() as db:
        keyed = db.execute(text("select focus_key <> :key from artifact_summary"), {"key": KEY}).scalars()
        assert sorted(keyed) == [False, True]
    assert client.delete("/v1/sessions/walk").json()["invalidated"] == {"artifact_summary": 2}


def test_a_question_is_found_by_a_key_that_nobody_else_can_compute(
    client: TestClient, tenant_id: UUID, keys: Environment
) -> None:
    talk(client, "walk", 1)
    key = PlanKey.of("walk", FOCUS, ["art_1"], focus="the harbour", model="m")
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        want_plan(scope, key, PlanWish(["art_1"], FOCUS, 100, focus="the harbour", model="m"))
        (row,) = take_wanted_plans(scope, "walk", most=9)
        assert store_plan(scope, row.key, plan={"artifacts": []})
    assert tables_with(KEY) == {}
    keys.use(FIRST, sealing=False)
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        found = find_plan(scope, key)
        assert found is not None
        assert (found.question, found.plan) == (FOCUS, {"artifacts": []})
        assert want_plan(scope, key, PlanWish(["art_1"], FOCUS, 100)) == "wanted"
        assert store_plan(scope, key, plan={"artifacts": [1]})
    with session.read_transaction() as db:
        found = find_plan(Scope(db, tenant_id), key)
        assert found is not None


@pytest.mark.parametrize("wrong", [(SECOND,), ()], ids=["another", "none"])
def test_what_was_asked_is_erased_also_where_the_key_is_not_at_hand(
    client: TestClient, keys: Environment, wrong: tuple[str, ...]
) -> None:
    ask(client, upload(client), FOCUS, session_id="walk")
    keys.use(*wrong)
    assert client.delete("/v1/sessions/walk").json()["invalidated"] == {"artifact_summary": 1}
