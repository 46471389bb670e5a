"""A whole history in the messages of a context: what is stored counts once, the rest is new."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.settings import api_settings
from tests.integration.erasing import talk, tool_turn
from tests.integration.summarizing import SESSION, dialogue
from tests.integration.test_sync_history import said, sync

PATH = f"/v1/sessions/{SESSION}"
QUESTION = {"role": "user", "content": "And which pallet is wet?"}


def ask(
    client: TestClient, messages: list[dict[str, Any]], status: int = 200, **fields: Any
) -> dict[str, Any]:
    body = {"model": "gpt-4o", "context_window": 100_000, "max_tokens": 500, "messages": messages, **fields}
    answer = client.post(f"{PATH}/context", json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def full(
    client: TestClient, messages: list[dict[str, Any]], status: int = 200, **fields: Any
) -> dict[str, Any]:
    return ask(client, messages, status, history="full", **fields)


def test_a_whole_history_makes_the_window_of_the_new_message_alone(client: TestClient) -> None:
    talk(client, SESSION, 3)
    expected = ask(client, [QUESTION])
    whole = full(client, [*said(1, 2, 3), QUESTION])
    assert whole["messages"] == expected["messages"] == [*said(1, 2, 3), QUESTION]
    assert whole["certificate"]["input_tokens"] == expected["certificate"]["input_tokens"]


def test_turns_that_are_not_stored_yet_are_new(client: TestClient) -> None:
    talk(client, SESSION, 2)
    history = [{"role": "system", "content": "Be brief."}, *said(1, 2, 3), QUESTION]
    assert full(client, history)["messages"] == history


def test_a_history_is_new_where_nothing_is_stored(client: TestClient) -> None:
    assert full(client, [*said(1), QUESTION])["messages"] == [*said(1), QUESTION]


def test_a_client_that_drops_its_oldest_messages_is_understood(client: TestClient) -> None:
    talk(client, SESSION, 4)
    assert full(client, [*said(3, 4), QUESTION])["messages"] == [*said(1, 2, 3, 4), QUESTION]


def test_a_history_from_before_a_reset_counts_once(client: TestClient) -> None:
    talk(client, SESSION, 2)
    client.post(f"{PATH}/reset")
    talk(client, SESSION, 1, first=3)
    assert full(client, [*said(1, 2, 3), QUESTION])["messages"] == [*said(3), QUESTION]


def test_a_message_that_is_stored_already_is_sent_once(client: TestClient) -> None:
    sync(client, [*said(1, 2), QUESTION])
    assert full(client, [*said(1, 2), QUESTION])["messages"] == [*said(1, 2), QUESTION]
    refusal = {"error": "This model's maximum context length is 9000 tokens."}
    body = {"model": "gpt-4o", "context_window": 10_000, "max_tokens": 500, "history": "full", **refusal}
    answer = client.post(f"{PATH}/compress", json={**body, "messages": [*said(1, 2), QUESTION]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["messages"].count(QUESTION) == 1


def test_an_agent_in_a_tool_loop_sends_its_stored_result_once(client: TestClient) -> None:
    call = tool_turn("t", "crane")["messages"][:3]
    call[2]["content"] = "It stands in hall 4."
    sync(client, [*said(1), *call])
    assert full(client, [*said(1), *call])["messages"] == [*said(1), *call]


def test_a_history_that_differs_is_a_conflict(client: TestClient) -> None:
    talk(client, SESSION, 3)
    other = [*said(1), {"role": "user", "content": "Something else."}, said(2)[1], QUESTION]
    told = full(client, other, 409)
    assert (told["type"], told["field"]) == ("history-conflict", "messages")


def test_a_history_without_a_new_message_is_refused(client: TestClient) -> None:
    talk(client, SESSION, 2)
    assert full(client, said(1, 2), 422)["field"] == "messages"


def test_a_history_that_is_too_long_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_MAX_HISTORY_MESSAGES", "4")
    api_settings.cache_clear()
    assert full(client, [*said(1, 2), QUESTION], 413)["limit"] == 4
    monkeypatch.undo()
    api_settings.cache_clear()


def test_large_results_are_known_too(client: TestClient) -> None:
    turn = tool_turn("t", "crane")
    client.post(f"{PATH}/turns", json=turn)
    whole = full(client, [*turn["messages"], *dialogue(1)[:1]])
    assert [message["role"] for message in whole["messages"]].count("tool") == 1
    assert whole["messages"][-1] == dialogue(1)[0]
