"""Replace, delete, truncate and append: a conversation goes back, and everything derived follows."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api.settings import api_settings
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import PAD, plant_in_message, post_turn, tables_with, talk, tool_turn
from tests.integration.summarizing import SESSION, Model, Room, dialogue
from tests.integration.test_erase_messages import counts_are_right, rows
from tests.integration.test_sync_history import stored

PATH = f"/v1/sessions/{SESSION}"
WORD = "zqxmarker"
OTHER = [
    {"role": "user", "content": f"Something else. {PAD}"},
    {"role": "assistant", "content": f"Well. {PAD}"},
]


def ok(answer: Any, status: int = 200) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def replace(
    client: TestClient, turn_id: str, messages: list[dict[str, Any]], **fields: Any
) -> dict[str, Any]:
    return ok(client.put(f"{PATH}/turns/{turn_id}", json={"messages": messages, **fields}))


def truncate(client: TestClient, after: str | None, **fields: Any) -> dict[str, Any]:
    return ok(client.post(f"{PATH}/truncate", json={"after_turn": after, **fields}))


def append(
    client: TestClient, turn_id: str, index: int, *messages: dict[str, Any], status: int = 200, **fields: Any
) -> dict[str, Any]:
    body = {"messages": list(messages), "index": index, **fields}
    return ok(client.post(f"{PATH}/turns/{turn_id}/messages", json=body), status)


def test_the_newest_turn_takes_any_messages_and_once(client: TestClient) -> None:
    talk(client, SESSION, 2)
    new = tool_turn("talk-2", "crane")
    fields = {name: new[name] for name in ("usage", "plan")}
    answer = replace(client, "talk-2", new["messages"], **fields)
    assert (answer["change"], answer["first_seq"], answer["last_seq"], answer["turn_index"]) == (
        "replaced",
        5,
        8,
        3,
    )
    assert answer["removed"] == {"message": 2, "turn": 1}
    again = replace(client, "talk-2", new["messages"], **fields)
    assert (again["change"], again["removed"], again["revision"]) == ("unchanged", {}, answer["revision"])
    assert stored(client) == [*dialogue(1), *new["messages"]]
    assert rows("select turn_id from plan_history") == [("talk-2",)]
    assert counts_are_right()


def test_an_earlier_turn_takes_other_words_in_place(client: TestClient) -> None:
    talk(client, SESSION, 3)
    answer = replace(client, "talk-1", OTHER)
    assert (answer["change"], answer["first_seq"]) == ("replaced", 1)
    assert replace(client, "talk-1", OTHER)["change"] == "unchanged"
    assert stored(client) == [*OTHER, *dialogue(2), *dialogue(3)]
    told = ok(client.put(f"{PATH}/turns/talk-1", json={"messages": tool_turn("x", "y")["messages"]}), 409)
    assert (told["type"], told["field"]) == ("turn-conflict", "turn_id")
    assert counts_are_right()


def test_everything_derived_from_a_replaced_turn_goes(client: TestClient, tenant_id: UUID) -> None:
    plant_in_message(tenant_id, client, SESSION, WORD, turn_id="t1", user_id="anna")
    truncate(client, "t1")
    assert replace(client, "t1", OTHER)["invalidated"]["summary"] > 0
    left = tables_with(WORD)
    assert left == {}


def test_a_deleted_turn_goes_with_everything_and_its_id_is_free(client: TestClient, tenant_id: UUID) -> None:
    plant_in_message(tenant_id, client, SESSION, WORD, turn_id="t1", user_id="anna")
    answer = ok(client.delete(f"{PATH}/turns/t1"))
    assert (answer["removed"]["message"], answer["removed"]["turn"]) == (4, 1)
    assert answer["last_turn_id"] == "talk-4"
    assert tables_with(WORD) == {}
    assert ok(client.delete(f"{PATH}/turns/t1"), 404)["type"] == "not-found"
    assert post_turn(client, SESSION, {"turn_id": "t1", "messages": OTHER})["duplicate"] is False
    assert stored(client)[-2:] == OTHER
    assert counts_are_right()


def test_an_erased_turn_that_comes_again_is_told_to_be_erased(client: TestClient) -> None:
    talk(client, SESSION, 2)
    for seq in (1, 2):
        ok(client.delete(f"{PATH}/messages/{seq}"))
    again = ok(client.post(f"{PATH}/turns", json={"turn_id": "talk-1", "messages": OTHER}))
    assert (again["duplicate"], again["erased"]) == (True, True)
    ok(client.delete(f"{PATH}/messages/3"))
    partly = ok(client.post(f"{PATH}/turns", json={"turn_id": "talk-2", "messages": OTHER}))
    assert (partly["duplicate"], partly["erased"]) == (True, True)
    lines = "\n".join(
        json.dumps({"session_id": SESSION, "turn_id": turn_id, "messages": OTHER})
        for turn_id in ("talk-1", "talk-2")
    )
    listed = ok(client.post("/v1/turns", content=lines))["results"]
    assert [(one["duplicate"], one["erased"]) for one in listed] == [(True, True), (True, True)]


def test_an_edited_turn_with_all_its_messages_is_not_told_to_be_erased(client: TestClient) -> None:
    talk(client, SESSION, 2)
    edited = {"message": {"role": "user", "content": "other words"}}
    ok(client.patch(f"{PATH}/messages/1", json=edited))
    again = ok(client.post(f"{PATH}/turns", json={"turn_id": "talk-1", "messages": OTHER}))
    assert (again["duplicate"], "erased" in again) == (True, False)


def test_a_session_goes_back_to_a_turn_and_on_from_there(client: TestClient) -> None:
    talk(client, SESSION, 4)
    answer = truncate(client, "talk-2")
    assert (answer["removed"], answer["last_turn_id"], answer["revision"]) == (
        {"message": 4, "turn": 2},
        "talk-2",
        "2.8",
    )
    again = truncate(client, "talk-2")
    assert (again["removed"], again["revision"]) == ({}, "2.8")
    talk(client, SESSION, 1, first=3)
    assert stored(client) == [*dialogue(1), *dialogue(2), *dialogue(3)]
    assert truncate(client, None)["last_turn_id"] is None
    assert rows("select count(*) from message") == [(0,)]
    assert counts_are_right()


def test_a_cut_for_another_revision_or_after_no_turn_is_refused(client: TestClient) -> None:
    talk(client, SESSION, 2)
    cut = f"{PATH}/truncate"
    told = ok(client.post(cut, json={"after_turn": "talk-1", "revision": "1.2"}), 409)
    assert (told["type"], told["revision"]) == ("history-conflict", "1.4")
    assert ok(client.post(cut, json={"after_turn": "talk-9"}), 404)["type"] == "not-found"
    assert ok(client.post(cut, json={}), 422)["field"] == "after_turn"
    assert rows("select count(*) from message") == [(4,)]


@pytest.mark.parametrize("how", ["replace", "delete", "truncate"])
def test_a_summary_under_way_does_not_take_effect_over_a_changed_history(
    client: TestClient, tenant_id: UUID, how: str
) -> None:
    room = Room(tenant_id)
    post_turn(client, SESSION, tool_turn("t1", WORD))
    talk(client, SESSION, 6)
    changes = {
        "replace": lambda: replace(client, "t1", tool_turn("t1", "nothing")["messages"]),
        "delete": lambda: ok(client.delete(f"{PATH}/turns/t1")),
        "truncate": lambda: truncate(client, None),
    }
    model = Model(changes[how])
    assert "activated" not in room.run(model)
    assert any(WORD in prompt for prompt in model.prompts)
    assert (tables_with(WORD), rows("select count(*) from summary")) == ({}, [(0,)])


def test_an_agent_sends_a_turn_piece_by_piece(client: TestClient) -> None:
    talk(client, SESSION, 1)
    whole = tool_turn("a", "crane")["messages"]
    first = append(client, "a", 0, whole[0], model="gpt-4o", user_id="anna")
    assert (first["length"], first["open"], first["appended"]) == (1, True, 1)
    append(client, "a", 1, whole[1])
    third = append(client, "a", 2, whole[2])
    last = append(client, "a", 3, whole[3], done=True)
    assert (last["turn_index"], last["first_seq"], last["last_seq"]) == (2, 3, 6)
    assert (third["open"], last["open"], last["length"]) == (True, False, 4)
    assert stored(client) == [*dialogue(1), *whole]
    assert rows("select tool, subject <> '' from artifact_use where artifact_id is not null") == [
        ("read_file", True)
    ]
    assert rows("select state from due_work where kind = 'artifact'") == [("ready",)]
    assert counts_are_right()


def test_notes_on_a_piece_speak_of_the_turn_and_not_of_the_piece(client: TestClient) -> None:
    talk(client, SESSION, 1)
    user, call, result, answer = tool_turn("a", "crane")["messages"]
    assert append(client, "a", 0, user)["notes"] == []
    [waits] = append(client, "a", 1, call)["notes"]
    assert "without a result" in waits
    for _ in range(2):  # the second time it is there already
        assert append(client, "a", 2, result)["notes"] == []
    assert append(client, "a", 3, answer, done=True)["notes"] == []
    notes = append(client, "b", 0, answer)["notes"] + append(client, "b", 1, result)["notes"]
    assert ["no user message" in note for note in notes] == [True, True, False]
    assert "without their own call" in notes[2]


def test_a_second_delivery_of_a_piece_stores_nothing_and_overlaps_are_joined(client: TestClient) -> None:
    whole = tool_turn("a", "crane")["messages"]
    append(client, "a", 0, *whole[:2])
    assert append(client, "a", 0, *whole[:2])["duplicate"] is True
    assert append(client, "a", 1, *whole[1:3])["appended"] == 1
    assert append(client, "a", 0, *whole, done=True)["appended"] == 1
    assert append(client, "a", 0, *whole, done=True)["duplicate"] is True
    assert stored(client) == whole


def test_pieces_that_do_not_fit_are_a_conflict(client: TestClient) -> None:
    append(client, "a", 0, OTHER[0])
    gap = append(client, "a", 2, OTHER[1], status=409)
    assert (gap["type"], gap["length"]) == ("turn-conflict", 1)
    assert append(client, "a", 0, OTHER[1], status=409)["type"] == "turn-conflict"
    assert append(client, "new", 1, OTHER[1], status=409)["length"] == 0
    append(client, "a", 1, OTHER[1], done=True)
    assert append(client, "a", 2, *dialogue(1), status=409)["type"] == "turn-closed"
    append(client, "b", 0, dialogue(2)[0])
    talk(client, SESSION, 1)
    assert append(client, "b", 1, dialogue(2)[1], status=409)["type"] == "turn-closed"
    assert append(client, "talk-1", 2, OTHER[1], status=409)["type"] == "turn-closed"
    assert ok(client.post(f"{PATH}/turns", json={"turn_id": "b", "messages": OTHER}), 409)


def test_a_turn_of_too_many_pieces_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_MAX_TURN_MESSAGES", "2")
    api_settings.cache_clear()
    append(client, "a", 0, *OTHER)
    assert append(client, "a", 2, OTHER[1], status=413)["limit"] == 2
    monkeypatch.undo()
    api_settings.cache_clear()


def test_a_turn_that_a_reset_left_behind_takes_no_pieces(client: TestClient) -> None:
    append(client, "a", 0, OTHER[0])
    ok(client.post(f"{PATH}/reset"))
    assert append(client, "a", 1, OTHER[1], status=409)["type"] == "turn-closed"


def test_another_tenant_changes_no_turn(client: TestClient) -> None:
    talk(client, SESSION, 2)
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    for answer in (
        client.put(f"{PATH}/turns/talk-2", json={"messages": OTHER}),
        client.delete(f"{PATH}/turns/talk-2"),
        client.post(f"{PATH}/truncate", json={"after_turn": "talk-1"}),
    ):
        assert ok(answer, 404)["type"] == "not-found"
    assert append(client, "talk-2", 0, OTHER[0])["turn_index"] == 1
    assert rows("select count(*) from message where session_id = 's1'") == [(5,)]
