"""The most history of a request: set for a tenant or a session, kept by every window, and compacted to."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.conversations.session_notes import HISTORY_LIMIT
from models.due_work.queue import WorkKind, find_work
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.activating import PATH, Chat
from tests.integration.conftest import make_key
from tests.integration.summarizing import dialogue
from workers.jobs.lifecycle import run_work
from workers.jobs.wake import wake_sessions
from workers.settings import WorkerSettings

TENANT = "/v1/history-limit"
SESSION = f"{PATH}/history-limit"
ROOMY = {"context_window": 128_000, "max_tokens": 500}


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID) -> Chat:
    return Chat(client, tenant_id)


def put(client: TestClient, path: str, tokens: Any) -> Any:
    return client.put(path, json={"max_history_tokens": tokens})


def test_a_window_holds_no_more_history_than_its_limit_and_says_whose_it_is(
    chat: Chat, client: TestClient
) -> None:
    chat.say(20)
    whole = chat.read(**ROOMY)
    assert whole["certificate"]["history_limit"] is None
    assert whole["utilization"]["limits"]["history"] is None
    assert whole["certificate"]["history_tokens"] > 2_500

    assert put(client, TENANT, 2_500).json() == {"max_history_tokens": 2_500, "source": "tenant"}
    answer = chat.read(**ROOMY)
    certificate = answer["certificate"]
    assert answer["utilization"]["limits"]["history"] == {"tokens": 2_500, "source": "tenant"}
    assert (certificate["fits"], certificate["history_limit"]) == (True, 2_500)
    assert 1_500 < certificate["history_tokens"] <= 2_500
    assert certificate["tail"][1] == 40
    parts = {"history", "summary", "recall", "artifact"}
    taken = sum(block["tokens"] for block in certificate["blocks"] if block["source"] in parts)
    assert taken == certificate["history_tokens"]

    assert put(client, SESSION, 1_200).json() == {"max_history_tokens": 1_200, "source": "session"}
    assert chat.read(**ROOMY)["certificate"]["history_tokens"] <= 1_200
    assert chat.show()["history_limit"] == {"tokens": 1_200, "source": "session"}
    assert put(client, SESSION, 100_000).status_code == 200
    assert chat.read(**ROOMY)["certificate"]["tail"] == [1, 40]
    assert put(client, SESSION, None).json() == {"max_history_tokens": 2_500, "source": "tenant"}


def test_the_smaller_of_limit_and_budget_holds(chat: Chat, client: TestClient) -> None:
    chat.say(20)
    put(client, SESSION, 2_000)
    small = chat.read(**ROOMY, budget=900)["certificate"]
    assert small["input_tokens"] <= 900
    prompt = {"system_prompt": "Pallets first. " * 400}
    large = chat.read(**ROOMY, **prompt, budget=60_000)["certificate"]
    assert large["history_tokens"] <= 2_000 < large["input_tokens"]


def test_a_session_is_compacted_to_its_limit(chat: Chat, client: TestClient) -> None:
    put(client, TENANT, 3_000)
    chat.say(20, context_window=128_000)
    assert chat.work_off().startswith("activated version 1")
    certificate = chat.read(**ROOMY)["certificate"]
    assert certificate["summary_covers"][0] == 1
    assert certificate["tail"] == [certificate["summary_covers"][1] + 1, 40]
    assert certificate["history_tokens"] <= 3_000
    assert not any(one["what"].startswith("messages") for one in certificate["excluded"])


def test_a_session_that_is_longer_than_its_new_limit_is_compacted_at_once(
    chat: Chat, client: TestClient
) -> None:
    chat.say(20, context_window=128_000)
    assert not chat.work_exists
    put(client, SESSION, 3_000)
    assert chat.work_off().startswith("activated version 1")


def wake(chat: Chat) -> str | None:
    """Do the work behind a tenant's limit; None where there is none."""
    with session.read_transaction() as db:
        walk = find_work(Scope(db, chat.tenant_id), WorkKind.WAKE, HISTORY_LIMIT)
    return run_work(walk.work_id, {WorkKind.WAKE: wake_sessions}, WorkerSettings()) if walk else None


def test_a_session_that_is_longer_than_its_tenants_new_limit_is_compacted_without_a_further_turn(
    chat: Chat, client: TestClient
) -> None:
    chat.say(20, context_window=128_000)
    put(client, TENANT, 100_000)
    assert wake(chat) == "0 sessions woken"
    put(client, TENANT, 3_000)
    assert not chat.work_exists
    assert wake(chat) == "1 sessions woken"
    assert chat.work_off().startswith("activated version 1")
    assert chat.read(**ROOMY)["certificate"]["summary_covers"][0] == 1


@pytest.mark.parametrize("tokens", [3_000, 5_000, None])
def test_a_limit_that_is_no_lower_wakes_nobody(chat: Chat, client: TestClient, tokens: int | None) -> None:
    put(client, TENANT, 3_000)
    assert wake(chat) == "0 sessions woken"
    put(client, TENANT, tokens)
    assert wake(chat) is None


@pytest.mark.parametrize("why", ["own limit", "long ago", "erased", "other tenant"])
def test_a_lower_limit_wakes_no_session_that_is_not_under_it_or_hardly_goes_on(
    chat: Chat, client: TestClient, why: str
) -> None:
    chat.say(20, context_window=128_000)
    if why == "own limit":
        put(client, SESSION, 100_000)
    elif why == "erased":
        client.delete(PATH)
    elif why == "long ago":
        with session.transaction() as db:
            db.execute(text("update session set last_turn_at = now() - interval '31 days'"))
    if why == "other tenant":
        with session.transaction() as db:
            others = ensure_tenant(db, "others")
        client.headers["Authorization"] = f"Bearer {make_key(others)}"
        chat = Chat(client, others)
    put(client, TENANT, 3_000)
    assert wake(chat) == "0 sessions woken"


def test_every_session_of_many_pages_is_woken(
    chat: Chat, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.jobs.wake.SESSIONS_AT_ONCE", 2)
    for name in ("a", "b", "c", "d", "e"):
        for turn in range(20):
            event = {"turn_id": f"t{turn}", "messages": dialogue(turn), "context_window": 128_000}
            assert client.post(f"/v1/sessions/{name}/turns", json=event).status_code == 202
    put(client, TENANT, 3_000)
    assert wake(chat) == "5 sessions woken"


@pytest.mark.parametrize("path", [TENANT, SESSION])
@pytest.mark.parametrize("tokens", [0, -1, 999, 100_000_001, 10**30, 1_500.5, "4000", True, [4_000]])
def test_a_limit_that_makes_no_sense_is_refused_and_changes_nothing(
    chat: Chat, client: TestClient, path: str, tokens: Any
) -> None:
    chat.say()
    put(client, path, 4_000)
    answer = put(client, path, tokens)
    assert answer.status_code == 422
    assert answer.json()["field"] == "max_history_tokens"
    assert client.get(path).json()["max_history_tokens"] == 4_000


@pytest.mark.parametrize("path", [TENANT, SESSION])
@pytest.mark.parametrize("tokens", [1_000, 100_000_000, None])
def test_the_least_and_the_most_limit_are_taken(
    chat: Chat, client: TestClient, path: str, tokens: Any
) -> None:
    chat.say()
    assert put(client, path, tokens).json()["max_history_tokens"] == tokens
    assert chat.read(**ROOMY)["certificate"]["fits"]


def test_a_limit_must_be_named(client: TestClient) -> None:
    assert client.put(TENANT, json={}).status_code == 422


def test_a_limit_is_one_tenants_alone(chat: Chat, client: TestClient) -> None:
    chat.say(20)
    with session.transaction() as db:
        others = ensure_tenant(db, "others")
    client.headers["Authorization"] = f"Bearer {make_key(others)}"
    put(client, TENANT, 1_000)
    assert put(client, SESSION, 1_000).status_code == 404
    client.headers["Authorization"] = f"Bearer {make_key(chat.tenant_id)}"
    assert client.get(SESSION).json() == {"max_history_tokens": None, "source": None}
    assert chat.read(**ROOMY)["certificate"]["tail"] == [1, 40]


def test_a_reset_keeps_a_sessions_limit_and_erasure_takes_it_away(chat: Chat, client: TestClient) -> None:
    chat.say()
    put(client, SESSION, 2_000)
    assert client.post(f"{PATH}/reset").status_code == 200
    assert client.get(SESSION).json()["max_history_tokens"] == 2_000
    assert client.delete(PATH).status_code == 200
    assert client.get(SESSION).status_code == 404
    chat.say()
    assert client.get(SESSION).json()["max_history_tokens"] is None
