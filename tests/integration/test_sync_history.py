"""Sync of a whole history: the stored turns become the caller's list, and everything derived follows."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api.settings import api_settings
from models import database as session
from models.conversations.session import find_session
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import PAD, plant_in_message, tables_with, talk, tool_turn
from tests.integration.summarizing import SESSION, Model, Room, dialogue
from tests.integration.test_erase_messages import counts_are_right, rows

PATH = f"/v1/sessions/{SESSION}/messages"
WORD = "zqxmarker"


def said(*numbers: int) -> list[dict[str, Any]]:
    return [message for number in numbers for message in dialogue(number)]


def sync(client: TestClient, messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    answer = client.put(PATH, json={"messages": messages, **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def refused(client: TestClient, messages: list[dict[str, Any]], status: int, **fields: Any) -> dict[str, Any]:
    answer = client.put(PATH, json={"messages": messages, **fields})
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def stored(client: TestClient) -> list[dict[str, Any]]:
    """All messages of the session as sent."""
    turns = client.get(f"/v1/sessions/{SESSION}/turns?from=1").json()["turns"]
    return [message for turn in turns for message in turn["messages"]]


def did(answer: dict[str, Any]) -> tuple[int, int, int, int]:
    return answer["added"], answer["replaced"], answer["removed"], answer["unchanged"]


def test_a_new_history_is_cut_into_turns_and_the_same_again_changes_nothing(client: TestClient) -> None:
    history = [{"role": "system", "content": "Be brief."}, *said(1, 2), *tool_turn("t", "crane")["messages"]]
    first = sync(client, history, user_id="anna", model="gpt-4o")
    assert did(first) == (3, 0, 0, 0)
    assert [turn["turn_id"] for turn in first["turns"]] == ["sync-1", "sync-3", "sync-5"]
    assert (first["last_turn_id"], first["revision"]) == ("sync-5", "1.8")
    assert "instructions" in first["notes"][0]
    again = sync(client, history, revision="0.0")
    assert (did(again), again["turns"], again["revision"]) == ((0, 0, 0, 3), [], "1.8")
    assert stored(client) == history[1:]
    assert rows("select distinct user_id, model from turn") == [("anna", "gpt-4o")]
    assert rows("select count(*) from artifact_use where artifact_id is not null") == [(1,)]
    assert counts_are_right()


def test_posted_turns_and_syncs_go_together(client: TestClient) -> None:
    client.post(f"/v1/sessions/{SESSION}/turns", json=tool_turn("t1", "crane"))
    history = tool_turn("t1", "crane")["messages"]
    assert did(sync(client, history)) == (0, 0, 0, 1)
    assert did(sync(client, [*history, *said(1)])) == (1, 0, 0, 1)
    client.post(f"/v1/sessions/{SESSION}/turns", json={"turn_id": "t2", "messages": said(2)})
    assert did(sync(client, [*history, *said(1, 2)])) == (0, 0, 0, 3)


def test_an_open_turn_goes_on_in_the_next_sync(client: TestClient) -> None:
    whole = tool_turn("t", "crane")["messages"]
    sync(client, [*said(1), *whole[:2]])
    assert did(sync(client, [*said(1), *whole])) == (1, 0, 0, 2)
    assert stored(client) == [*said(1), *whole]
    assert did(sync(client, [*said(1), *whole])) == (0, 0, 0, 2)


def test_an_edited_answer_keeps_its_place_and_a_shorter_list_cuts_off(client: TestClient) -> None:
    sync(client, said(1, 2, 3))
    other = {"role": "assistant", "content": "Nothing of it is known."}
    history = [*said(1), said(2)[0], other, *said(3)]
    edited = sync(client, history)
    assert did(edited) == (0, 1, 0, 2)
    assert edited["turns"] == [
        {"turn_id": "sync-3", "turn_index": 2, "first_seq": 3, "last_seq": 4, "change": "replaced"}
    ]
    assert stored(client) == history
    cut = sync(client, history[:2])
    assert (did(cut), cut["last_turn_id"]) == ((0, 0, 2, 1), "sync-1")
    assert stored(client) == history[:2]
    assert did(sync(client, said(1, 2, 3))) == (2, 0, 0, 1)
    assert [row[0] for row in rows("select seq from message order by seq")] == [1, 2, 7, 8, 9, 10]
    assert counts_are_right()


def test_an_answer_that_calls_tools_instead_is_stored_anew(client: TestClient) -> None:
    whole = tool_turn("t", "crane")["messages"]
    sync(client, [*said(1), whole[0], {"role": "assistant", "content": "No idea."}])
    answer = sync(client, [*said(1), *whole])
    assert did(answer) == (1, 0, 1, 1)
    assert stored(client) == [*said(1), *whole]
    assert rows("select turn_id from turn order by turn_index") == [("sync-1",), ("sync-5",)]


def test_everything_derived_from_a_removed_message_goes(client: TestClient, tenant_id: UUID) -> None:
    plant_in_message(tenant_id, client, SESSION, WORD, turn_id="t1", user_id="anna")
    rest = said(1, 2, 3, 4)
    answer = sync(client, rest)
    assert did(answer) == (0, 0, 1, 4)
    assert answer["requeued"] > 0
    assert tables_with(WORD) == {}
    assert stored(client) == rest
    assert rows("select state from due_work where kind = 'summarize'") == [("ready",)]


def test_a_summary_under_way_does_not_take_effect_over_a_synced_history(
    client: TestClient, tenant_id: UUID
) -> None:
    room = Room(tenant_id)
    history = [{"role": "user", "content": f"Mind {WORD}. {PAD}"}, said(0)[1], *said(1, 2, 3, 4, 5, 6)]
    sync(client, history)
    changed = [{"role": "user", "content": f"Mind nothing. {PAD}"}, *history[1:]]
    model = Model(lambda: sync(client, changed))
    assert "activated" not in room.run(model)
    assert any(WORD in prompt for prompt in model.prompts)
    assert tables_with(WORD) == {}
    assert rows("select count(*) from summary") == [(0,)]
    again = Model()
    assert room.do(again).startswith("activated")
    assert not any(WORD in prompt for prompt in again.prompts)


def test_an_old_revision_is_a_conflict_that_names_the_present_one(client: TestClient) -> None:
    first = sync(client, said(1))
    sync(client, said(1, 2), revision=first["revision"])
    told = refused(client, said(1, 3), 409, revision=first["revision"])
    assert (told["type"], told["field"], told["revision"]) == ("history-conflict", "revision", "1.4")
    assert stored(client) == said(1, 2)


def test_a_list_out_of_date_removes_nothing_where_it_may_only_append(client: TestClient) -> None:
    sync(client, said(1, 2, 3))
    told = refused(client, said(1, 2), 409, append_only=True)
    assert (told["type"], told["removed"], told["replaced"]) == ("history-conflict", 1, 0)
    assert stored(client) == said(1, 2, 3)
    assert did(sync(client, said(1, 2, 3, 4), append_only=True)) == (1, 0, 0, 3)


def test_two_writers_at_once_store_each_turn_once(client: TestClient) -> None:
    sync(client, said(1))
    gate = threading.Barrier(4)

    def write(_: int) -> tuple[int, int, int, int]:
        gate.wait()
        return did(sync(client, said(1, 2)))

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(write, range(4)))
    assert answers == [(0, 0, 0, 2)] * 3 + [(1, 0, 0, 1)]
    assert stored(client) == said(1, 2)


def test_a_reset_hides_earlier_turns_from_a_sync(client: TestClient, tenant_id: UUID) -> None:
    sync(client, said(1, 2))
    client.post(f"/v1/sessions/{SESSION}/reset")
    assert did(sync(client, said(3))) == (1, 0, 0, 0)
    with session.read_transaction() as db:
        found = find_session(Scope(db, tenant_id), SESSION)
    assert found is not None
    assert (found.start_seq, found.last_seq) == (4, 6)


def test_a_session_that_was_erased_begins_anew(client: TestClient) -> None:
    sync(client, said(1, 2))
    assert client.delete(f"/v1/sessions/{SESSION}").status_code == 200
    answer = sync(client, said(1))
    assert (did(answer), answer["revision"]) == ((1, 0, 0, 0), "2.2")


def test_a_message_erased_by_its_number_is_taken_as_missing(client: TestClient) -> None:
    sync(client, said(1, 2, 3))
    for seq in (3, 4):
        assert client.delete(f"{PATH}/{seq}").status_code == 200
    assert did(sync(client, said(1, 3))) == (0, 0, 0, 2)


def test_another_tenant_syncs_a_session_of_its_own(client: TestClient) -> None:
    sync(client, said(1, 2))
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    head = {"Authorization": f"Bearer {make_key(other)}"}
    answer = client.put(PATH, json={"messages": said(7)}, headers=head)
    assert did(answer.json()) == (1, 0, 0, 0)
    assert stored(client) == said(1, 2)


def test_a_long_turn_is_cut_between_its_steps(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_MAX_TURN_MESSAGES", "3")
    api_settings.cache_clear()
    whole = tool_turn("a", "crane")["messages"]
    history = [*whole[:3], *tool_turn("b", "box")["messages"][1:]]
    answer = sync(client, history)
    assert [(turn["first_seq"], turn["last_seq"]) for turn in answer["turns"]] == [(1, 3), (4, 6)]
    assert did(sync(client, history)) == (0, 0, 0, 1)
    monkeypatch.undo()
    api_settings.cache_clear()


def test_a_history_that_is_too_long_or_in_another_format_is_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(client, said(1))
    told = refused(client, said(1), 409, wire="anthropic")
    assert (told["type"], told["field"], told["stored"]) == ("history-conflict", "wire", "openai")
    monkeypatch.setenv("AFTERTURN_MAX_HISTORY_MESSAGES", "5")
    api_settings.cache_clear()
    assert refused(client, said(1, 2, 3), 413)["limit"] == 5
    talk(client, SESSION, 3, first=5)
    assert refused(client, said(1), 413)["field"] == "messages"
    monkeypatch.undo()
    api_settings.cache_clear()


def test_a_list_without_a_conversation_is_refused(client: TestClient) -> None:
    assert refused(client, [{"role": "system", "content": "Be brief."}], 422)["field"] == "messages"
    assert refused(client, [], 422)["field"] == "messages"
    assert refused(client, [{"role": "nobody", "content": "x"}], 422)["field"].startswith("messages[0]")


def test_an_id_made_for_a_sync_that_a_platform_took_is_a_conflict(client: TestClient) -> None:
    client.post(f"/v1/sessions/{SESSION}/turns", json={"turn_id": "sync-3", "messages": said(1)})
    assert refused(client, said(1, 2), 409)["type"] == "turn-conflict"
    assert stored(client) == said(1)
