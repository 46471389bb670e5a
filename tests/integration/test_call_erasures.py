"""Calls about a whole conversation after an erasure: each answers as if the erased had never been."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from models import database as session
from models.providers.context_limit import Sighting, SightingSource, learn_limit
from models.scope import Scope
from tests.integration.erasing import plant_everywhere, plant_in_message, post_turn, tables_with, talk
from tests.integration.summarizing import SESSION, dialogue
from tests.integration.test_bad_input import at_once
from tests.integration.test_change_turns import OTHER, append, ok, truncate
from tests.integration.test_erase_messages import counts_are_right, rows
from tests.integration.test_full_history import QUESTION, full
from tests.integration.test_sync_history import said, stored, sync

PATH = f"/v1/sessions/{SESSION}"
WORD = "zqxmarker"
USER = "anna"
WAYS = ("session", "user")


def erase(client: TestClient, way: str) -> None:
    ok(client.delete(PATH if way == "session" else f"/v1/users/{USER}"))


def erase_messages(client: TestClient, *seqs: int) -> None:
    for seq in seqs:
        ok(client.delete(f"{PATH}/messages/{seq}"))


@pytest.mark.parametrize("way", WAYS)
def test_a_sync_after_an_erasure_stores_the_list_and_nothing_of_before(
    client: TestClient, tenant_id: UUID, way: str
) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, USER)
    erase(client, way)
    answer = sync(client, said(7), user_id=USER)
    assert (answer["added"], answer["removed"], answer["revision"]) == (1, 0, "2.2")
    assert tables_with(WORD) == {}
    erase(client, way)
    assert rows("select count(*) from message") == [(0,)]


def test_a_sync_while_its_session_is_erased_is_whole_or_not_there(client: TestClient) -> None:
    sync(client, said(1, 2))
    synced, erased = at_once(
        [
            lambda: client.put(f"{PATH}/messages", json={"messages": said(1, 2, 3)}),
            lambda: client.delete(PATH),
        ]
    )
    assert (synced.status_code, erased.status_code) == (200, 200)
    if client.get(PATH).status_code == 200:
        assert stored(client) == said(1, 2, 3)
        assert counts_are_right()
    else:
        assert rows("select count(*) from message") == [(0,)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("door", ["context", "compress", "contexts"])
def test_a_whole_history_after_an_erasure_is_new_from_its_first_message(
    client: TestClient, tenant_id: UUID, door: str, way: str
) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, USER)
    erase(client, way)
    sent = [*said(1), QUESTION]
    if door == "context":
        assert full(client, sent)["messages"] == sent
    elif door == "compress":
        body = {"model": "gpt-4o", "history": "full", "observed_limit": 9_000, "messages": sent}
        assert client.post(f"{PATH}/compress", json=body).status_code == 422
    else:
        line = {"model": "gpt-4o", "history": "full", "session_id": SESSION, "messages": sent}
        [found] = client.post("/v1/contexts", json=line).json()["results"]
        assert found["context"]["messages"] == sent
    assert tables_with(WORD) == {}


def test_a_whole_history_that_still_holds_an_erased_message_differs(client: TestClient) -> None:
    talk(client, SESSION, 3)
    erase_messages(client, 3, 4)
    told = full(client, [*said(1, 2, 3), QUESTION], 409)
    assert (told["type"], told["field"]) == ("history-conflict", "messages")
    without = [*said(1, 3), QUESTION]
    assert full(client, without)["messages"] == without


def test_an_erased_turn_is_replaced_where_it_is_the_newest_and_nowhere_else(client: TestClient) -> None:
    talk(client, SESSION, 2)
    erase_messages(client, 1, 2, 3, 4)
    assert ok(client.put(f"{PATH}/turns/talk-1", json={"messages": OTHER}), 409)["type"] == "turn-conflict"
    assert ok(client.put(f"{PATH}/turns/talk-2", json={"messages": OTHER}))["change"] == "replaced"
    assert stored(client) == OTHER
    assert counts_are_right()


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_of_an_erased_session_or_user_is_not_there_to_be_changed(client: TestClient, way: str) -> None:
    post_turn(client, SESSION, {"turn_id": "t1", "messages": dialogue(1), "user_id": USER})
    erase(client, way)
    for answer in (
        client.put(f"{PATH}/turns/t1", json={"messages": OTHER}),
        client.delete(f"{PATH}/turns/t1"),
        client.post(f"{PATH}/truncate", json={"after_turn": "t1"}),
        client.post(f"{PATH}/truncate", json={"after_turn": None}),
        client.post(f"{PATH}/fork", json={"session_id": "b"}),
    ):
        assert ok(answer, 404)["type"] == "not-found"
    assert rows("select count(*) from session") == [(0,)]


def test_an_erased_turn_is_deleted_and_its_id_is_free(client: TestClient) -> None:
    talk(client, SESSION, 2)
    erase_messages(client, 1, 2)
    assert ok(client.delete(f"{PATH}/turns/talk-1"))["last_turn_id"] == "talk-2"
    assert post_turn(client, SESSION, {"turn_id": "talk-1", "messages": OTHER})["duplicate"] is False
    assert stored(client) == [*dialogue(2), *OTHER]


def test_everything_derived_from_a_turn_that_was_cut_off_goes(client: TestClient, tenant_id: UUID) -> None:
    plant_in_message(tenant_id, client, SESSION, WORD, turn_id="t1", user_id=USER)
    answer = truncate(client, None)
    assert (answer["last_turn_id"], answer["invalidated"]["summary"] > 0) == (None, True)
    assert tables_with(WORD) == {}


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_is_erased_while_it_is_open_goes_and_begins_anew(
    client: TestClient, tenant_id: UUID, way: str
) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, USER)
    append(client, "a", 0, {"role": "user", "content": WORD}, user_id=USER)
    append(client, "a", 1, {"role": "assistant", "content": WORD})
    erase(client, way)
    assert tables_with(WORD) == {}
    late = append(client, "a", 2, OTHER[0], status=409)
    assert (late["type"], late["length"]) == ("turn-conflict", 0)
    append(client, "a", 0, *OTHER, done=True, user_id=USER)
    assert stored(client) == OTHER


def test_a_piece_behind_an_erased_message_is_refused(client: TestClient) -> None:
    append(client, "a", 0, *OTHER)
    erase_messages(client, 1)
    for index, message in ((1, OTHER[1]), (2, OTHER[0])):
        assert append(client, "a", index, message, status=409)["type"] in {"turn-closed", "turn-conflict"}
    assert stored(client) == OTHER[1:]


@pytest.mark.parametrize("way", WAYS)
def test_an_erased_session_takes_its_user_out_of_the_lists(client: TestClient, way: str) -> None:
    post_turn(client, SESSION, {"turn_id": "t1", "messages": dialogue(1), "user_id": USER})
    assert ok(client.get("/v1/users"))["users"] == [{"user_id": USER}]
    erase(client, way)
    assert ok(client.get("/v1/users")) == {"users": [], "next": None}
    assert ok(client.get("/v1/sessions")) == {"sessions": [], "next": None}
    assert ok(client.get("/v1/sessions", params={"user_id": USER}))["sessions"] == []


@pytest.mark.parametrize("way", WAYS)
def test_a_context_does_not_come_after_an_erased_turn(client: TestClient, way: str) -> None:
    asked = {"model": "gpt-4o", "messages": [QUESTION], "after_turn": "t1"}
    turn = {"turn_id": "t1", "messages": dialogue(1), "user_id": USER}
    for words in ([*dialogue(1), QUESTION], [*dialogue(1), QUESTION]):
        post_turn(client, SESSION, turn)
        assert ok(client.post(f"{PATH}/context", json=asked))["messages"] == words
        erase(client, way)
        assert ok(client.post(f"{PATH}/context", json=asked), 409)["type"] == "turn-not-stored"


def test_a_context_comes_after_a_turn_whose_messages_are_erased(client: TestClient) -> None:
    talk(client, SESSION, 2)
    erase_messages(client, 3, 4)
    asked = {"model": "gpt-4o", "messages": [QUESTION], "after_turn": "talk-2"}
    assert ok(client.post(f"{PATH}/context", json=asked))["messages"] == [*dialogue(1), QUESTION]


@pytest.mark.parametrize("way", WAYS)
def test_what_an_erased_session_taught_of_a_model_is_gone(
    client: TestClient, tenant_id: UUID, way: str
) -> None:
    post_turn(client, SESSION, {"turn_id": "t1", "messages": dialogue(1), "user_id": USER})
    with session.transaction() as db:
        learn_limit(
            Scope(db, tenant_id), Sighting("m", SESSION, 8_192, SightingSource.ERROR), floor_tokens=8_192
        )
    limits = ok(client.get("/v1/limits"))["limits"]
    assert [(one["model"], one["session_id"]) for one in limits] == [("m", SESSION)]
    erase(client, way)
    assert ok(client.get("/v1/limits"))["limits"] == []
    assert ok(client.delete("/v1/limits?model=m")) == {"forgotten": 0}


def test_an_erased_user_leaves_the_keys(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, USER)
    before: Any = ok(client.get("/v1/keys"))
    erase(client, "user")
    assert ok(client.get("/v1/keys")) == before
