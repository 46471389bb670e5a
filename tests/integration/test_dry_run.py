"""A look at a context: the very answer that a request would get, and no trace of it."""

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from context.types import JsonObject
from llm.scripted import ScriptedServer
from tests.integration.activating import Chat
from tests.integration.reading import Platform, long_report
from tests.integration.summarizing import Model
from tests.integration.test_tenancy import rows_of

TOOLS: list[JsonObject] = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
OTHER = {"system_prompt": "Be kind.", "tools": TOOLS, "context_window": 9_000, "max_tokens": 900}
"""What makes a request that the session has not seen yet."""

CHANGES = ("idle_s", "oldest_due_age_s")
"""Ages: what differs between two answers because time passes."""


def without_ages(answer: Any) -> Any:
    """An answer without what time alone changes."""
    if isinstance(answer, list):
        return [without_ages(item) for item in answer]
    if isinstance(answer, dict):
        return {name: without_ages(item) for name, item in answer.items() if name not in CHANGES}
    return answer


def look_then_ask(tenant_id: UUID, ask: Callable[..., Any], **request: Any) -> Any:
    """Look first, then make the request: the first changes no row, the second some; both answer alike."""
    before = rows_of(tenant_id)
    seen = ask(dry_run=True, **request)
    assert rows_of(tenant_id) == before
    answer = ask(**request)
    assert rows_of(tenant_id) != before
    assert without_ages(seen) == without_ages(answer)
    return seen


@pytest.fixture
def chat(client: TestClient, tenant_id: UUID) -> Chat:
    """A session that paused, and whose window is full enough for a summary to be prepared, which waits."""
    talk = Chat(client, tenant_id)
    talk.say(25, context_window=10_000)
    talk.pass_by(301)
    talk.say(1, context_window=10_000)
    assert talk.work_off(Model()) == "prepared version 1"
    return talk


def test_the_window_the_prompt_and_the_tools_of_a_look_are_not_remembered(
    client: TestClient, tenant_id: UUID
) -> None:
    talk = Chat(client, tenant_id)
    talk.say(3)
    look_then_ask(tenant_id, talk.read, **OTHER)


def test_a_look_shows_the_prepared_summary_in_force_and_leaves_it_prepared(
    chat: Chat, tenant_id: UUID
) -> None:
    chat.pass_by(301)
    before = rows_of(tenant_id)
    seen = chat.read(dry_run=True)
    assert rows_of(tenant_id) == before
    assert chat.states == ["prepared"]
    answer = chat.read()
    assert chat.states == ["active"]
    assert seen["messages"] == answer["messages"]
    assert seen["certificate"] == answer["certificate"]
    assert seen["utilization"]["cache"]["activation"] == "cold cache"


def test_a_look_asks_for_no_summary_however_full_the_window_is(client: TestClient, tenant_id: UUID) -> None:
    talk = Chat(client, tenant_id)
    talk.say(8)
    look_then_ask(tenant_id, talk.read, context_window=1_500, max_tokens=100)


def test_a_look_asks_for_no_plan_and_no_reading(client: TestClient, tenant_id: UUID) -> None:
    with ScriptedServer() as server:
        platform = Platform(client, tenant_id, server)
        platform.turn("Read both.", long_report(), long_report("Crane 4 stands still."))
        request = {"context_window": 3_000, "max_tokens": 300, "question": "Which crane stands still?"}
        seen = look_then_ask(tenant_id, platform.ask, **request)
    assert seen["utilization"]["artifacts_processed"]


def test_a_look_does_not_wait(client: TestClient, tenant_id: UUID, long_wait_ms: int) -> None:
    talk = Chat(client, tenant_id)
    talk.say(3)
    talk.want()
    before, began = rows_of(tenant_id), time.monotonic()
    talk.read(dry_run=True, wait_ms=long_wait_ms)
    assert time.monotonic() - began < long_wait_ms / 1_500
    assert rows_of(tenant_id) == before


def test_only_a_context_is_looked_at(client: TestClient) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "dry_run": True}
    refused = client.post("/v1/sessions/s/compress", json={**body, "observed_limit": 9_000})
    assert refused.status_code == 422
    assert "dry_run" in refused.text
