"""Lists of sessions and users: filtered, page by page, a tenant's own alone."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.conversations import listing
from models.conversations.session import find_session
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import post_turn, talk
from tests.integration.summarizing import dialogue


def get(client: TestClient, path: str, status: int = 200, **params: Any) -> dict[str, Any]:
    answer = client.get(path, params=params)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def pages(client: TestClient, path: str, key: str, **params: Any) -> list[list[str]]:
    """The ids of every page."""
    name = {"sessions": "session_id", "users": "user_id"}[key]
    found, cursor = [], None
    while True:
        page = get(client, path, **params, **({"cursor": cursor} if cursor else {}))
        found.append([entry[name] for entry in page[key]])
        cursor = page["next"]
        if cursor is None:
            return found


def fill(client: TestClient) -> None:
    for number, user_id in enumerate(["anna", "bob", "anna", None, "ünal"]):
        for turn in range(2):
            event = {"turn_id": f"t{turn}", "messages": dialogue(turn), "user_id": user_id}
            post_turn(client, f"s-{number}", event)
    talk(client, "other", 1)


def grow_old(but: str) -> None:
    """Let all sessions but one rest for two days."""
    with session.transaction() as db:
        db.execute(
            text("update session set last_turn_at = now() - interval '2 days' where session_id <> :but"),
            {"but": but},
        )


def ids(client: TestClient, **params: Any) -> list[str]:
    return [one for page in pages(client, "/v1/sessions", "sessions", **params) for one in page]


def test_sessions_are_listed_by_id_page_by_page(client: TestClient) -> None:
    fill(client)
    assert pages(client, "/v1/sessions", "sessions", limit=4) == [
        ["other", "s-0", "s-1", "s-2"],
        ["s-3", "s-4"],
    ]
    assert pages(client, "/v1/sessions", "sessions", limit=3)[:2] == [
        ["other", "s-0", "s-1"],
        ["s-2", "s-3", "s-4"],
    ]
    entry = get(client, "/v1/sessions", prefix="s-0")["sessions"][0]
    state = get(client, "/v1/sessions/s-0")
    assert (entry["turns"], entry["history_tokens"], entry["revision"]) == (
        2,
        state["tokens"]["history"],
        "1.4",
    )
    assert entry["last_turn_at"] == state["last_turn_at"]


def test_sessions_are_filtered_by_prefix_user_and_age(client: TestClient) -> None:
    fill(client)
    assert ids(client, prefix="s-") == [f"s-{number}" for number in range(5)]
    assert ids(client, prefix="%") == []
    assert ids(client, user_id="anna") == ["s-0", "s-2"]
    assert pages(client, "/v1/sessions", "sessions", user_id="anna", limit=1)[:2] == [["s-0"], ["s-2"]]
    assert ids(client, user_id="anna", prefix="s-2") == ["s-2"]
    assert ids(client, user_id="nobody") == []
    with session.transaction() as db:
        db.execute(
            text("update session set last_turn_at = now() - interval '2 days' where session_id <> 's-1'")
        )
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    assert ids(client, updated_since=since) == ["s-1"]
    assert ids(client, updated_since=since, user_id="anna") == []


def test_a_page_looks_at_a_bounded_number_of_sessions(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(client)
    monkeypatch.setattr(listing, "MOST_SCANNED", 2)
    with session.transaction() as db:
        db.execute(
            text("update session set last_turn_at = now() - interval '2 days' where session_id <> 's-4'")
        )
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    assert pages(client, "/v1/sessions", "sessions", updated_since=since) == [[], [], ["s-4"], []]


def test_users_are_listed_by_id(client: TestClient) -> None:
    fill(client)
    assert pages(client, "/v1/users", "users", limit=2)[:2] == [["anna", "bob"], ["ünal"]]
    assert pages(client, "/v1/users", "users", prefix="b") == [["bob"]]
    assert client.delete("/v1/users/anna").status_code == 200
    assert pages(client, "/v1/users", "users") == [["bob", "ünal"]]
    assert ids(client) == ["other", "s-1", "s-3", "s-4"]


def test_a_faulty_page_is_refused(client: TestClient) -> None:
    for path in ("/v1/sessions", "/v1/users"):
        assert get(client, path, 422, cursor="!")["field"] == "cursor"
        assert get(client, path, 422, cursor="AA")["field"] == "cursor"
        assert get(client, path, 422, limit=0)["field"] == "limit"
        assert get(client, path, 422, limit=201)["field"] == "limit"
        assert get(client, path, 422, unknown="x")["field"] == "unknown"
    assert get(client, "/v1/sessions", 422, updated_since="2026-01-01T00:00:00")["field"] == "updated_since"


def test_another_tenant_lists_its_own_alone(client: TestClient) -> None:
    fill(client)
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert (ids(client), ids(client, user_id="anna")) == ([], [])
    assert pages(client, "/v1/users", "users") == [[]]


def test_removed_turns_and_messages_are_not_counted(client: TestClient, tenant_id: UUID) -> None:
    """A place keeps its number for ever; the counts are of what is there."""

    def counts(session_id: str) -> tuple[int, int, int, int]:
        entry = next(
            each for each in get(client, "/v1/sessions")["sessions"] if each["session_id"] == session_id
        )
        shown = get(client, f"/v1/sessions/{session_id}")["turns"]
        with session.transaction() as db:
            state = find_session(Scope(db, tenant_id), session_id)
        assert state is not None
        return entry["turns"], shown, state.raw_messages, state.prepared_load.raw_messages

    talk(client, "gaps", 5)
    assert counts("gaps") == (5, 5, 10, 10)
    client.delete("/v1/sessions/gaps/turns/talk-2")
    client.delete("/v1/sessions/gaps/messages/5")
    assert counts("gaps") == (4, 4, 7, 7)
    client.post("/v1/sessions/gaps/truncate", json={"after_turn": "talk-4"})
    assert counts("gaps") == (3, 3, 5, 5)
    client.post("/v1/sessions/gaps/fork", json={"session_id": "branch"})
    assert counts("branch") == (3, 3, 5, 5)
    talk(client, "gaps", 1, first=9)
    assert counts("gaps") == (4, 4, 7, 7)
