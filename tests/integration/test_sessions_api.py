"""Sessions over HTTP: their state, the versions of their summary, rollback and reset, only one's own."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.summarizing import MODEL, SESSION, Model, Room

pytestmark = pytest.mark.usefixtures("early_summaries")

ASK: dict[str, Any] = {
    "model": "gpt-4o",
    "context_window": 32_000,
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "And now?"}],
}
PATH = f"/v1/sessions/{SESSION}"


@pytest.fixture
def room(client: TestClient, tenant_id: UUID) -> Room:
    """A session with eight turns, summarized; its API is `client`."""
    del client  # makes the tables empty first
    one = Room(tenant_id)
    one.add_turns(8)
    assert one.run(Model()).startswith("activated")
    return one


def show(client: TestClient) -> Any:
    return client.get(PATH).json()


def context(client: TestClient, **fields: Any) -> Any:
    answer = client.post(f"{PATH}/context", json={**ASK, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def activate(client: TestClient, version: int) -> Any:
    return client.post(f"{PATH}/summaries/{version}/activate")


def test_a_session_says_how_far_it_goes_and_what_its_parts_cost(client: TestClient, room: Room) -> None:
    shown = show(client)
    assert (shown["session_id"], shown["generation"], shown["turns"]) == (SESSION, 1, 8)
    tokens = shown["tokens"]
    assert tokens["history"] == tokens["raw"] + tokens["summarized"]
    assert 0 < tokens["summary"] < tokens["summarized"]
    assert shown["freshness"] == {
        "last_seq": 16,
        "summarized_through": room.standing.session.summarized_seq,
        "pending": 1,
        "oldest_due_age_s": None,
        "summary_by": MODEL,
        "stands_in": False,
    }
    assert [work["last_outcome"] for work in shown["due_work"]] == ["activated version 1"]
    assert shown["last_errors"] == []


def test_work_under_way_shows_as_pending_with_its_age(client: TestClient, room: Room) -> None:
    room.add_turns(1)
    room.want()
    assert show(client)["freshness"]["pending"] == 2, "the summary and the index"
    assert show(client)["freshness"]["oldest_due_age_s"] >= 0


@pytest.mark.usefixtures("room")
def test_a_request_is_remembered_with_its_window_and_its_fixed_parts(client: TestClient) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    context(client, system_prompt="Be kind.", tools=tools, context_window=9_000)
    shown = show(client)
    assert (shown["context_window"], shown["model"]) == (9_000, "gpt-4o")
    assert shown["tokens"]["system_prompt"] > 0
    assert shown["tokens"]["tools"] > 0


def test_every_version_is_listed_newest_first(client: TestClient, room: Room) -> None:
    room.add_turns(4)
    room.run(Model())
    listed = client.get(f"{PATH}/summaries").json()["summaries"]
    assert [(one["version"], one["state"], one["base_version"]) for one in listed] == [
        (2, "active", 1),
        (1, "superseded", None),
    ]
    assert {one["from_seq"] for one in listed} == {1}
    assert listed[0]["to_seq"] > listed[1]["to_seq"]
    assert all(one["text"] and one["tokens"] and one["model"] and one["created_at"] for one in listed)


def test_a_refused_version_is_listed_with_its_reason(client: TestClient, room: Room) -> None:
    room.add_turns(4)
    room.run(Model("", ""))
    newest = client.get(f"{PATH}/summaries").json()["summaries"][0]
    assert (newest["state"], newest["rejected_because"]) == ("rejected", "empty")
    assert activate(client, newest["version"]).status_code == 404


def test_after_a_rollback_the_turns_after_it_are_raw_again(client: TestClient, room: Room) -> None:
    first = room.standing.session.summarized_seq
    room.add_turns(4)
    room.run(Model())
    answer = activate(client, 1)
    assert [(one["version"], one["state"]) for one in answer.json()["summaries"]] == [
        (2, "superseded"),
        (1, "active"),
    ]
    certificate = context(client)["certificate"]
    assert certificate["summary_covers"] == [1, first]
    assert certificate["tail"] == [first + 1, 24]
    assert show(client)["freshness"]["summarized_through"] == first


def test_a_rollback_is_not_undone_before_the_next_turn(client: TestClient, room: Room) -> None:
    room.add_turns(4)
    room.run(Model())
    activate(client, 1)
    model = Model()
    assert room.run(model) == "rolled back; waits for a new turn"
    for _ in range(3):
        context(client)
    assert model.asked == []
    assert show(client)["freshness"]["summarized_through"] == room.standing.session.summarized_seq
    room.add_turns(1)
    assert room.run(model) == "activated version 3"
    assert room.states == ["superseded", "superseded", "active"]


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("version", ["9", "0", "-1", "99999999999999999999", "x"])
def test_a_version_that_is_none_is_refused(client: TestClient, version: str) -> None:
    answer = client.post(f"{PATH}/summaries/{version}/activate")
    assert answer.status_code in {404, 422}
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_reset_session_shows_nothing_of_before(client: TestClient, room: Room) -> None:
    answer = client.post(f"{PATH}/reset").json()
    assert answer == {"session_id": SESSION, "generation": 2, "starts_after": 16}
    window = context(client)
    assert [message["content"] for message in window["messages"]] == ["And now?"]
    assert (window["certificate"]["summary_covers"], window["certificate"]["tail"]) == (None, None)
    assert window["certificate"]["excluded"] == []
    room.add_turns(1)
    assert context(client)["certificate"]["tail"] == [17, 18]


def test_a_summary_of_before_a_reset_cannot_come_back(client: TestClient, room: Room) -> None:
    client.post(f"{PATH}/reset")
    assert activate(client, 1).status_code == 404
    room.add_turns(8)
    assert room.run(Model()).startswith("activated")
    assert context(client)["certificate"]["summary_covers"][0] == 17


def test_a_summary_that_was_under_way_during_a_reset_is_thrown_away(client: TestClient, room: Room) -> None:
    room.add_turns(4)
    outcome = room.run(Model(lambda: client.post(f"{PATH}/reset")))
    assert outcome.startswith("discarded")
    assert context(client)["certificate"]["summary_covers"] is None


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/summaries"),
        ("POST", "/summaries/1/activate"),
        ("POST", "/reset"),
    ],
)
def test_another_tenant_finds_no_such_session(client: TestClient, room: Room, method: str, path: str) -> None:
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
    headers = {"Authorization": f"Bearer {make_key(stranger)}"}
    answer = client.request(method, f"{PATH}{path}", headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
    assert room.states == ["active"]


@pytest.mark.usefixtures("room")
def test_another_tenant_gets_a_window_without_anything_of_the_session(client: TestClient) -> None:
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
    headers = {"Authorization": f"Bearer {make_key(stranger)}"}
    window = client.post(f"{PATH}/context", json=ASK, headers=headers).json()
    assert len(window["messages"]) == 1
    assert window["freshness"]["last_seq"] == 0


@pytest.mark.usefixtures("room")
def test_reading_is_not_enough_to_change_a_session(client: TestClient, tenant_id: UUID) -> None:
    headers = {"Authorization": f"Bearer {make_key(tenant_id, 'read')}"}
    assert client.get(PATH, headers=headers).status_code == 200
    for path in ("/reset", "/summaries/1/activate"):
        assert client.post(f"{PATH}{path}", headers=headers).status_code == 403
