"""Erasing beside others: what comes at the same moment is erased whole, or stays whole."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.erasure.log import Receipt
from models.erasure.sessions import erase_session, erase_user_from
from models.scope import Scope
from tests.integration.erasing import tables_with, tool_turn
from tests.waiting import wait_until

SESSION = "walk"
USER = "anna"
WORD = "zqxmarker"
WAITS = text(
    "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
)

Erase = Callable[[Scope], Receipt]


def of_session(scope: Scope) -> Receipt:
    return erase_session(scope, SESSION)


def of_user(scope: Scope) -> Receipt:
    return erase_user_from(scope, USER, SESSION)


each_erasure = pytest.mark.parametrize("erase", [of_session, of_user])


def say(client: TestClient) -> int:
    event = tool_turn("t1", WORD, user_id=USER)
    return int(client.post(f"/v1/sessions/{SESSION}/turns", json=event).status_code)


@each_erasure
def test_a_turn_waits_for_the_erasure_of_a_session_that_is_not_there(
    client: TestClient, tenant_id: UUID, erase: Erase
) -> None:
    """Else statements of one erasure see more of it than others, and contents stay that nothing uses."""
    with ThreadPoolExecutor(1) as pool, session.transaction() as db:
        assert erase(Scope(db, tenant_id)).is_empty
        turn = pool.submit(say, client)
        with session.read_transaction() as watch:
            wait_until(lambda: watch.execute(WAITS).first() or turn.done(), within_s=30, what="it waits")
        assert not turn.done()
        db.commit()
        assert turn.result(30) == 202
    assert len(client.get(f"/v1/sessions/{SESSION}/turns").json()["turns"]) == 1
    client.delete(f"/v1/sessions/{SESSION}")
    assert tables_with(WORD) == {}


@each_erasure
def test_an_erasure_of_nothing_leaves_no_session_and_tells_of_none(
    client: TestClient, tenant_id: UUID, erase: Erase
) -> None:
    with session.transaction() as db:
        assert erase(Scope(db, tenant_id)).is_empty
    assert client.get(f"/v1/sessions/{SESSION}").status_code == 404
    assert client.delete(f"/v1/sessions/{SESSION}").status_code == 404


def test_two_erasures_and_a_turn_between_them_leave_no_content(client: TestClient, tenant_id: UUID) -> None:
    """The second found the session gone when it had waited for it, and went on beside the turn that came."""
    assert say(client) == 202
    with ThreadPoolExecutor(2) as pool, session.transaction() as db:
        erase_session(Scope(db, tenant_id), SESSION)
        second = pool.submit(client.delete, f"/v1/sessions/{SESSION}")
        turn = pool.submit(say, client)
        with session.read_transaction() as watch:
            wait_until(lambda: len(watch.execute(WAITS).all()) == 2, within_s=30, what="both wait")
        db.commit()
        assert turn.result(30) == 202
        assert second.result(30).status_code in {200, 404}
    client.delete(f"/v1/sessions/{SESSION}")
    assert tables_with(WORD) == {}


def test_a_plan_for_a_session_that_is_being_erased_is_not_stored(client: TestClient, tenant_id: UUID) -> None:
    """Else its words come after the plans of the session went, and stay."""
    assert say(client) == 202
    client.put("/v1/catalogs/tools", json={"tools": [{"name": "read", "description": "Read a file."}]})
    wish = {"intent": f"find {WORD}", "catalog": "tools", "model": "extractive", "session_id": SESSION}
    with ThreadPoolExecutor(1) as pool, session.transaction() as db:
        erase_session(Scope(db, tenant_id), SESSION)
        plan = pool.submit(client.post, "/v1/plans", json=wish)
        with session.read_transaction() as watch:
            wait_until(lambda: watch.execute(WAITS).first() or plan.done(), within_s=30, what="it waits")
        db.commit()
        assert plan.result(30).status_code == 404
    assert tables_with(WORD) == {}


def test_a_summary_asked_of_an_artifact_that_is_being_erased_is_not_stored(
    client: TestClient, tenant_id: UUID
) -> None:
    assert say(client) == 202
    with session.read_transaction() as db:
        artifact_id = db.execute(text("select artifact_id from artifact")).scalar_one()
    path = f"/v1/artifacts/{artifact_id}/summaries"
    with ThreadPoolExecutor(1) as pool, session.transaction() as db:
        erase_session(Scope(db, tenant_id), SESSION)
        asked = pool.submit(client.put, path, json={"focus": f"what of {WORD}?"})
        with session.read_transaction() as watch:
            wait_until(lambda: watch.execute(WAITS).first() or asked.done(), within_s=30, what="it waits")
        db.commit()
        assert asked.result(30).status_code == 404
    assert tables_with(WORD) == {}


def test_of_many_edits_of_one_message_at_once_none_is_sent_away(client: TestClient) -> None:
    """Whoever comes second waits for the first: every edit is done once, and the last one stands."""
    assert say(client) == 202

    def edit(number: int) -> int:
        message = {"role": "user", "content": f"words of edit {number}"}
        return client.patch(f"/v1/sessions/{SESSION}/messages/1", json={"message": message}).status_code

    with ThreadPoolExecutor(12) as pool:
        assert set(pool.map(edit, range(24))) == {200}
    found = client.get(f"/v1/sessions/{SESSION}").json()
    assert found["generation"] == 1 + 24
    said = client.get(f"/v1/sessions/{SESSION}/turns").json()["turns"][0]["messages"][0]["content"]
    assert said.startswith("words of edit")


PATIENT = text("set local deadlock_timeout = '60s'; set local lock_timeout = '60s'")
"""Whoever looks for a deadlock first is the one that is ended: on a busy machine that could be either."""

LOCK_WORK = text("select from due_work where kind = 'artifact' and key = :artifact_id for update")
LOCK_ARTIFACT = text("select from artifact where artifact_id = :artifact_id for update")


@pytest.mark.parametrize("asks", ["upload", "summary"])
def test_whoever_loses_to_others_in_another_order_is_served_all_the_same(
    client: TestClient, asks: str
) -> None:
    """The database ends the call, which waited first, and it is made once more."""
    document = {"content": "The crane driver reports that the box is wet. " * 200}
    artifact = {"artifact_id": client.post("/v1/attachments", json=document).json()["artifact_id"]}

    def call() -> int:
        if asks == "upload":
            return client.post("/v1/attachments", json={**document, "user_id": USER}).status_code
        path = f"/v1/artifacts/{artifact['artifact_id']}/summaries"
        return client.put(path, json={"focus": "which box is wet?"}).status_code

    with ThreadPoolExecutor(1) as pool, session.transaction() as db:
        db.execute(PATIENT)
        db.execute(LOCK_WORK, artifact)
        called = pool.submit(call)
        with session.read_transaction() as watch:
            wait_until(lambda: watch.execute(WAITS).first() or called.done(), within_s=30, what="it waits")
        db.execute(LOCK_ARTIFACT, artifact)
        db.commit()
        assert called.result(30) in {201, 202}
