"""Tools of other formats, and whole servers of tools: converted or named, never filtered unseen."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.refusing import ASK, post_turn
from tests.integration.test_tools_context import PLAIN_TOOLS, tool

CHAT = [tool(name, description) for name, description in PLAIN_TOOLS.items()]
SERVERS: list[tuple[str, str, dict[str, Any]]] = [
    ("anthropic", "claude-sonnet-4-5", {"type": "mcp_toolset", "mcp_server_name": "depot"}),
    ("responses", "gpt-5", {"type": "mcp", "server_label": "depot", "server_url": "https://depot.example"}),
    (
        "responses",
        "gpt-5",
        {"type": "namespace", "name": "depot", "tools": [{"type": "function", "name": "a"}]},
    ),
]
RAN = {"type": "server_tool_use", "id": "s1", "name": "bash_code_execution", "input": {}}
SEEN = {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content": []}


def ask(client: TestClient, wire: str, model: str, tools: Any, message: str = "thanks!") -> dict[str, Any]:
    body = {**ASK, "wire": wire, "model": model, "context_window": 32_000, "tools": tools}
    body["messages"] = [{"role": "user", "content": message}]
    answer = client.post("/v1/sessions/s1/context", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize(("wire", "model", "server"), SERVERS)
@pytest.mark.parametrize("message", ["thanks!", "What does bitcoin cost today?", "draw a cat"])
def test_a_server_whose_tools_nobody_has_seen_stays_at_both_doors(
    client: TestClient, wire: str, model: str, server: dict[str, Any], message: str
) -> None:
    tools = [*CHAT, server]
    answer = ask(client, wire, model, tools, message)
    assert server in answer["tools"]
    assert len(answer["tools"]) < len(tools)
    told = client.post("/v1/preflight", json={"message": message, "tools": tools}).json()
    assert (server.get("name") or server["type"]) in told["tool_allowlist"]


def test_the_servers_own_tool_that_history_used_stays(client: TestClient) -> None:
    done = {"role": "assistant", "content": [RAN, SEEN, {"type": "text", "text": "Done."}]}
    asked = {"turn_id": "t1", "wire": "anthropic", "messages": [{"role": "user", "content": "run it"}, done]}
    assert client.post("/v1/sessions/s1/turns", json=asked).status_code == 202
    own = {"type": "code_execution_20250825", "name": "code_execution"}
    unused = {"type": "web_search_20250305", "name": "web_search"}
    others = [one for one in CHAT if one["function"]["name"] != "web_search"]
    answer = ask(client, "anthropic", "claude-sonnet-4-5", [*others, unused, own])
    assert own in answer["tools"]
    assert unused not in answer["tools"]


@pytest.mark.parametrize(("wire", "shape"), [("anthropic", "input_schema"), ("responses", "parameters")])
def test_tools_of_chat_go_out_in_the_format_of_the_request(client: TestClient, wire: str, shape: str) -> None:
    answer = ask(
        client, wire, "claude-sonnet-4-5" if wire == "anthropic" else "gpt-5", CHAT, "Zorblax quindle?"
    )
    assert [one["name"] for one in answer["tools"]] == list(PLAIN_TOOLS)
    assert all(one[shape]["type"] == "object" and "function" not in one for one in answer["tools"])
    assert answer["certificate"]["losses"] == []


@pytest.mark.parametrize(
    ("wire", "model", "foreign", "why"),
    [
        (
            "anthropic",
            "claude-sonnet-4-5",
            {"type": "file_search"},
            "the tool file_search of another provider",
        ),
        (
            "responses",
            "gpt-5",
            {"type": "mcp_toolset", "mcp_server_name": "s"},
            "the tool mcp_toolset of another",
        ),
        (
            "openai",
            "gpt-4o",
            {"type": "web_search_20250305", "name": "web_search"},
            "the tool web_search_2025",
        ),
        (
            "anthropic",
            "claude-sonnet-4-5",
            {"type": "custom", "custom": {"name": "patch"}},
            "a free-form tool",
        ),
    ],
)
def test_what_cannot_be_carried_of_a_tool_is_named_in_the_certificate(
    client: TestClient, wire: str, model: str, foreign: dict[str, Any], why: str
) -> None:
    post_turn(client, "t1", {"role": "user", "content": "hello"}, {"role": "assistant", "content": "Yes."})
    answer = ask(client, wire, model, [tool("look"), foreign], "Zorblax quindle?")
    assert [loss["why"] for loss in answer["certificate"]["losses"] if loss["why"].startswith(why)]
    assert foreign not in answer["tools"]
