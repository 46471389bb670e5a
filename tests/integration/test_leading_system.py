"""A system message that leads a request's messages is its system prompt; tools come in any format."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

HELLO = {"role": "user", "content": "play a song"}
ASK: dict[str, Any] = {"model": "gpt-4o", "context_window": 16_000, "max_tokens": 500}


def context(client: TestClient, *messages: dict[str, Any], **more: Any) -> Any:
    return client.post("/v1/sessions/s1/context", json={**ASK, "messages": list(messages), **more})


@pytest.mark.parametrize("wire", ["openai", "anthropic", "responses"])
def test_a_leading_system_message_is_the_system_prompt(client: TestClient, wire: str) -> None:
    answer = context(client, {"role": "system", "content": "Be kind."}, HELLO, wire=wire).json()
    beside = context(client, HELLO, wire=wire, system_prompt="Be kind.").json()
    assert answer["messages"] == beside["messages"]
    assert answer.get("system") == beside.get("system")
    sources = [block["source"] for block in answer["certificate"]["blocks"]]
    assert sources == ["overhead", "system_prompt", "new"]


def test_two_system_prompts_are_refused_and_both_are_named(client: TestClient) -> None:
    answer = context(client, {"role": "system", "content": "Be kind."}, HELLO, system_prompt="Be brief.")
    assert answer.status_code == 422
    assert "system_prompt" in answer.text
    assert "messages[0]" in answer.text


def test_a_system_prompt_alone_asks_nothing(client: TestClient) -> None:
    assert context(client, {"role": "system", "content": "Be kind."}).status_code == 422


@pytest.mark.parametrize("wire", ["openai", "responses"])
@pytest.mark.parametrize("parts", [[], [{"type": "text", "text": " "}]])
def test_a_new_message_of_no_parts_asks_nothing(client: TestClient, wire: str, parts: list[Any]) -> None:
    empty = {"role": "user", "content": parts}
    assert context(client, empty, wire=wire).status_code == 422
    answer = context(client, empty, HELLO, wire=wire).json()
    assert answer["messages"] == [HELLO]


def test_tools_of_another_format_are_converted_and_what_is_lost_is_named(client: TestClient) -> None:
    tools = [
        {"name": "find", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    answer = context(client, HELLO, tools=tools).json()
    names = [tool["function"]["name"] for tool in answer["tools"] or []]
    assert set(names) <= {"find"}
    losses = {(loss["kind"], loss["why"]) for loss in answer["certificate"]["losses"]}
    assert ("content", "the tool web_search_20250305 of another provider was left out") in losses
    assert ("fields", "a tool's definition has no place for cache_control") in losses


def test_a_whole_server_of_tools_is_not_filtered_by_its_type(client: TestClient) -> None:
    tools = [{"type": "mcp", "server_label": "bank"}, {"type": "web_search_preview"}]
    answer = context(
        client,
        {"role": "user", "content": "What does bitcoin cost today?"},
        tools=tools,
        wire="responses",
    ).json()
    assert tools[0] in answer["tools"]
    said = client.post("/v1/preflight", json={"message": "What does bitcoin cost today?", "tools": tools})
    assert "mcp" in (said.json()["tool_allowlist"] or ["mcp"])
