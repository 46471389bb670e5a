"""Erasing sessions and users: who loses what, what is left to others, and what a second call finds."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.sessions import erase as erase_api
from models import database as session
from models.due_work.queue import WorkKind, enqueue
from models.erasure.messages import MOST_RANGES
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import post_turn, tables_with, talk, tool_turn
from tests.integration.summarizing import Model, Room, dialogue
from tests.integration.test_erase_messages import counts_are_right, rows, seqs, turns, window

PATH = "/v1/sessions/s1"


def ok(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def say(client: TestClient, turn_id: str, user_id: str | None, words: str, session_id: str = "s1") -> None:
    messages = [{"role": "user", "content": words}, {"role": "assistant", "content": f"Noted: {words}"}]
    event = {"turn_id": turn_id, "messages": messages}
    post_turn(client, session_id, {**event, "user_id": user_id} if user_id else event)


def upload(client: TestClient, content: str, **fields: str) -> str:
    answer = client.post("/v1/attachments", json={"content": content, **fields})
    assert answer.status_code in {200, 201}, answer.text
    found: str = answer.json()["attachment_id"]
    return found


def test_an_erased_session_is_not_there_any_more(client: TestClient) -> None:
    talk(client, "s1", 3)
    receipt = ok(client.delete(PATH))
    assert receipt["removed"] == {"message": 6, "session": 1, "turn": 3}
    for path in (PATH, f"{PATH}/turns", f"{PATH}/summaries", f"{PATH}/messages/1"):
        assert client.get(path).status_code in {404, 405}


def test_a_session_that_was_never_there_is_answered_with_404(client: TestClient) -> None:
    assert client.delete("/v1/sessions/never").status_code == 404
    assert client.delete("/v1/users/never").status_code == 404


def test_work_of_a_session_that_was_asked_for_before_its_first_turn_goes_too(
    client: TestClient, tenant_id: UUID
) -> None:
    with session.transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, "s1")
    upload(client, "for a session that has no turn yet", session_id="s1")
    receipt = ok(client.delete(PATH))
    assert receipt["removed"] == {"artifact": 1, "artifact_attachment": 1}
    assert receipt["invalidated"] == {"due_work": 1}


def test_work_whose_key_is_no_session_stays(client: TestClient, tenant_id: UUID) -> None:
    talk(client, "tables", 1)
    with session.transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.SWEEP, "tables")
    ok(client.delete("/v1/sessions/tables"))
    assert rows("select kind from due_work where key = 'tables'") == [("sweep",)]


def test_a_turn_after_the_erasure_begins_a_session_of_its_own(client: TestClient) -> None:
    talk(client, "s1", 2)
    ok(client.delete(PATH))
    talk(client, "s1", 1)
    state = ok(client.get(PATH))
    assert (state["turns"], state["freshness"]["last_seq"], state["generation"]) == (1, 2, 2)


def test_a_session_and_a_user_of_another_tenant_do_not_exist(client: TestClient) -> None:
    say(client, "t1", "anna", "Mine.")
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    own = client.headers["Authorization"]
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert client.delete(PATH).status_code == 404
    assert client.delete("/v1/users/anna").status_code == 404
    client.headers["Authorization"] = own
    assert seqs() == [1, 2]


def test_all_sessions_of_a_user_go_and_turns_that_name_nobody_with_them(client: TestClient) -> None:
    say(client, "t1", "anna", "First.")
    say(client, "t2", None, "Second.")
    say(client, "t1", "anna", "Elsewhere.", "s2")
    say(client, "t1", None, "Nobody's.", "s3")
    receipt = ok(client.delete("/v1/users/anna"))
    assert (receipt["removed"]["session"], receipt["remaining_sessions"]) == (2, 0)
    assert rows("select session_id from session") == [("s3",)]


def test_of_a_session_that_users_share_only_one_s_own_turns_go(client: TestClient) -> None:
    for number, user in enumerate(("anna", "bert", "anna", None, "bert"), 1):
        say(client, f"t{number}", user, f"Words of {user or 'nobody'} in turn {number}.")
    receipt = ok(client.delete("/v1/users/anna"))
    assert receipt["removed"] == {"message": 4, "turn": 2}
    assert tables_with("anna") == {}
    assert [turn["turn_id"] for turn in turns(client)] == ["t2", "t4", "t5"]
    assert seqs() == [3, 4, 7, 8, 9, 10]
    assert counts_are_right()
    certificate = window(client)["certificate"]
    assert (certificate["tail"], certificate["tail_contiguous"]) == ([3, 10], True)


def test_another_user_s_call_that_a_user_s_turn_answers_is_taken_out(client: TestClient) -> None:
    user, call, result, end = tool_turn("t1", "crane")["messages"]
    post_turn(client, "s1", {"turn_id": "t1", "messages": [user, call], "user_id": "bert"})
    post_turn(client, "s1", {"turn_id": "t2", "messages": [result, end], "user_id": "anna"})
    receipt = ok(client.delete("/v1/users/anna"))
    assert receipt["removed"] == {"artifact": 1, "artifact_use": 1, "message": 3, "turn": 1}
    assert seqs() == [1]


@pytest.mark.parametrize(("user", "left"), [("anna", [3, 4]), ("bert", [1, 2])])
def test_reasoning_that_ends_one_user_s_turn_takes_nothing_of_another_user_s_along(
    client: TestClient, user: str, left: list[int]
) -> None:
    asked = {"type": "message", "role": "user", "content": "And?"}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    said = {"type": "message", "role": "assistant", "content": "Blue."}
    hers = {"turn_id": "t1", "messages": [asked, thought], "user_id": "anna", "wire": "responses"}
    his = {"turn_id": "t2", "messages": [said, asked], "user_id": "bert", "wire": "responses"}
    for event in (hers, his):
        post_turn(client, "s1", event)
    ok(client.delete(f"/v1/users/{user}"))
    (turn,) = ok(client.get("/v1/sessions/s1/turns"))["turns"]
    assert turn["seqs"] == left
    assert turn["messages"] == (his if user == "anna" else hers)["messages"]


def test_a_user_s_many_turns_in_a_shared_session_leave_its_index_right(
    client: TestClient, tenant_id: UUID
) -> None:
    room = Room(tenant_id)
    for number in range(1, MOST_RANGES + 10):
        user = "anna" if number % 2 else "bert"
        post_turn(client, "s1", {"turn_id": f"t{number}", "messages": dialogue(number), "user_id": user})
    while room.run(Model()).startswith("activated"):
        continue
    ok(client.delete("/v1/users/anna"))
    assert rows("select count(*) from summary") == [(0,)]
    assert room.run(Model()).startswith("activated")
    assert counts_are_right()


def test_a_user_s_documents_and_plans_go_wherever_they_are(client: TestClient, tenant_id: UUID) -> None:
    upload(client, "a document that is Anna's alone", user_id="anna", title="hers")
    shared = upload(client, "a document that both have", user_id="anna")
    upload(client, "a document that both have", user_id="bert")
    with session.transaction() as db:
        db.execute(
            text("insert into user_profile values (:tenant_id, 'anna', 'coding', 1)"),
            {"tenant_id": tenant_id},
        )
    receipt = ok(client.delete("/v1/users/anna"))
    assert receipt["removed"] == {"artifact": 1, "artifact_attachment": 2}
    assert receipt["invalidated"] == {"user_profile": 1}
    assert ok(client.get(f"/v1/attachments/{shared}"))["attachment_id"] == shared
    assert tables_with("anna") == {}


def test_what_takes_too_long_is_left_for_the_next_call(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        say(client, "t1", "anna", "Mine.", f"s{number}")
    monkeypatch.setattr(erase_api, "USER_S", 0.0)
    upload(client, "hers", user_id="anna")
    assert ok(client.delete("/v1/users/anna"))["remaining_sessions"] == 3
    monkeypatch.setattr(erase_api, "USER_S", 20.0)
    assert ok(client.delete("/v1/users/anna"))["removed"]["session"] == 3


@pytest.mark.parametrize("user_id", ["auth0|anna", "Änne 🦊", "a?b#c", "x" * 200])
def test_any_user_that_a_turn_can_name_can_be_erased(client: TestClient, user_id: str) -> None:
    say(client, "t1", user_id, "Mine.")
    assert ok(client.delete(f"/v1/users/{quote(user_id, safe='')}"))["removed"]["session"] == 1


def test_the_document_describes_the_calls(client: TestClient) -> None:
    paths = ok(client.get("/openapi.json"))["paths"]
    assert {"patch", "delete"} <= paths["/v1/sessions/{session_id}/messages/{seq}"].keys()
    assert "delete" in paths["/v1/sessions/{session_id}"]
    assert "delete" in paths["/v1/users/{user_id}"]
