"""A context after a turn waits for the turn; learned limits are seen and forgotten over HTTP."""

import threading
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api.http import waiting
from models import database as session
from models.conversations.accept import StoredTurn, find_turn
from models.providers.context_limit import Sighting, SightingSource, learn_limit
from models.providers.limit_report import set_limit
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import talk
from tests.integration.summarizing import SESSION, dialogue

PATH = f"/v1/sessions/{SESSION}"


def ask(client: TestClient, status: int = 200, *, door: str = "context", **fields: Any) -> dict[str, Any]:
    question = {"role": "user", "content": "And now?"}
    body = {"model": "gpt-4o", "context_window": 32_000, "max_tokens": 500, "messages": [question], **fields}
    answer = client.post(f"{PATH}/{door}", json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    found["retry"] = answer.headers.get("retry-after")
    return found


def test_a_context_comes_when_its_turn_is_stored(
    client: TestClient, long_wait_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(client, SESSION, 1)
    looked = threading.Event()

    def look(scope: Scope, session_id: str, turn_id: str) -> StoredTurn | None:
        found = find_turn(scope, session_id, turn_id)
        if found is None:
            looked.set()
        return found

    def store() -> None:
        assert looked.wait(60)
        talk(client, SESSION, 1, first=2)

    monkeypatch.setattr(waiting, "find_turn", look)
    writer = threading.Thread(target=store)
    writer.start()
    answer = ask(client, after_turn="talk-2", wait_ms=long_wait_ms)
    writer.join()
    assert answer["messages"][2:4] == dialogue(2)


def test_a_turn_that_is_there_needs_no_wait(client: TestClient) -> None:
    talk(client, SESSION, 1)
    assert len(ask(client, after_turn="talk-1")["messages"]) == 3


@pytest.mark.parametrize("door", ["context", "compress"])
def test_a_turn_that_is_not_there_in_time_is_a_conflict(client: TestClient, door: str) -> None:
    talk(client, SESSION, 1)
    fields = {"observed_limit": 20_000} if door == "compress" else {}
    for wait_ms in (0, 30):
        told = ask(client, 409, door=door, after_turn="talk-9", wait_ms=wait_ms, **fields)
        assert (told["type"], told["field"], told["retry"]) == ("turn-not-stored", "after_turn", "1")


def test_a_dry_run_does_not_wait(client: TestClient, long_wait_ms: int) -> None:
    told = ask(client, 409, after_turn="talk-9", wait_ms=long_wait_ms, dry_run=True)
    assert told["type"] == "turn-not-stored"


def test_learned_limits_are_forgotten_and_an_operators_stays(client: TestClient, tenant_id: UUID) -> None:
    talk(client, SESSION, 1)
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        for model in ("m-1", "m-2"):
            seen = Sighting(model, SESSION, 8_192, SightingSource.ERROR)
            learn_limit(scope, seen, floor_tokens=8_192)
        set_limit(scope, "m-1", 50_000)
    limits = client.get("/v1/limits").json()["limits"]
    assert sorted((one["model"], one["source"]) for one in limits) == [
        ("m-1", "error"),
        ("m-1", "operator"),
        ("m-2", "error"),
    ]
    assert client.delete("/v1/limits?model=m-1").json() == {"forgotten": 1}
    assert client.delete("/v1/limits?model=m-1").json() == {"forgotten": 0}
    assert client.delete(f"/v1/limits?session_id={SESSION}").json() == {"forgotten": 1}
    left = client.get("/v1/limits").json()["limits"]
    assert [(one["model"], one["source"]) for one in left] == [("m-1", "operator")]


def test_limits_are_forgotten_by_name_and_by_their_tenant_alone(client: TestClient, tenant_id: UUID) -> None:
    told = client.delete("/v1/limits")
    assert (told.status_code, told.json()["field"]) == (422, "model")
    with session.transaction() as db:
        learn_limit(
            Scope(db, tenant_id), Sighting("m-1", SESSION, 8_192, SightingSource.ERROR), floor_tokens=8_192
        )
        other = ensure_tenant(db, "other")
    stranger = {"Authorization": f"Bearer {make_key(other)}"}
    assert client.get("/v1/limits", headers=stranger).json()["limits"] == []
    answer = client.delete("/v1/limits?model=m-1", headers=stranger)
    assert answer.json() == {"forgotten": 0}
    assert len(client.get("/v1/limits").json()["limits"]) == 1
