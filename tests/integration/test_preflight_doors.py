"""Both doors to preflight give one answer: `/v1/preflight`, and the one inside a context request."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.refusing import ASK, call, post_turn, result

NAMES = {
    "exec": "Run a shell command.",
    "read": "Read a file.",
    "web_search": "Search the web.",
    "memory_search": "Search what was noted.",
    "message": "Send a message.",
    "get_weather": "Current weather and forecast for a city.",
    "lookup_order": "Find an order or a parcel by its number.",
    "look": "Look at a shelf.",
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": text, "parameters": {"type": "object"}}}
    for name, text in NAMES.items()
]
MESSAGES = [
    "what is the weather in Oslo?",
    "where is my parcel?",
    "fix the bug in this function and run the tests",
    "fix the bug\n<system-reminder>the parcel and the weather were checked</system-reminder>",
    "hey there",
    "remember to restart the server",
    "Who is her doctor?",
]


def outside(client: TestClient, message: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/preflight", json={"message": message, "tools": TOOLS, **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def inside(client: TestClient, message: str, session_id: str = "new") -> dict[str, Any]:
    body = {**ASK, "messages": [{"role": "user", "content": message}], "tools": TOOLS}
    answer = client.post(f"/v1/sessions/{session_id}/context", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("message", MESSAGES)
def test_one_message_gets_one_answer(client: TestClient, message: str) -> None:
    served = inside(client, message)
    told = outside(client, message)
    same = ("categories", "tool_allowlist", "memory", "thinking_level", "hint", "hidden")
    assert {name: told[name] for name in same} == {name: served["preflight"][name] for name in same}
    if told["tool_allowlist"] is not None:
        sent = [tool["function"]["name"] for tool in served["tools"]]
        assert sent == told["tool_allowlist"]


CONTAINERS: dict[str, list[dict[str, Any]]] = {
    "of Gemini": [{"functionDeclarations": [tool["function"] for tool in TOOLS]}, {"googleSearch": {}}],
    "of Bedrock": [
        {"toolSpec": {"name": name, "description": text, "inputSchema": {"json": {"type": "object"}}}}
        for name, text in NAMES.items()
    ],
}


@pytest.mark.parametrize("tools", CONTAINERS.values(), ids=CONTAINERS)
def test_tools_in_containers_get_one_answer_too(client: TestClient, tools: list[dict[str, Any]]) -> None:
    asked = {
        "model": "gemini-2.5-pro",
        "messages": [{"role": "user", "content": "hey there"}],
        "tools": tools,
    }
    served = client.post("/v1/sessions/new/context", json={**ASK, **asked}).json()
    told = outside(client, "hey there", tools=tools)
    assert told["tool_allowlist"] == served["preflight"]["tool_allowlist"]
    assert [each["function"]["name"] for each in served["tools"] if "function" in each] == told[
        "tool_allowlist"
    ]
    assert {"googleSearch": {}} not in tools or {"googleSearch": {}} in served["tools"]


def test_the_tool_that_the_words_point_at_stays_at_both(client: TestClient) -> None:
    assert "get_weather" in outside(client, MESSAGES[0])["tool_allowlist"]
    assert "lookup_order" in outside(client, MESSAGES[1])["tool_allowlist"]


def test_names_alone_are_judged_by_their_words(client: TestClient) -> None:
    found = outside(client, MESSAGES[0], tools=list(NAMES))
    assert "get_weather" in found["tool_allowlist"]
    assert "lookup_order" not in found["tool_allowlist"]


def test_what_the_history_of_the_session_called_stays_at_both(client: TestClient) -> None:
    question = {"role": "user", "content": "Look at shelf seven."}
    post_turn(client, "t1", question, call("c1"), result("c1"), {"role": "assistant", "content": "Empty."})
    message = "what is the weather in Oslo?"
    told = outside(client, message, session_id="s1")
    assert "look" in told["tool_allowlist"]
    assert told["tool_allowlist"] == inside(client, message, "s1")["preflight"]["tool_allowlist"]
    assert "look" not in outside(client, message)["tool_allowlist"]


VERBS = ("create", "list", "update", "delete", "search", "get", "archive", "export", "share", "play")
THINGS = ("invoice", "calendar", "ticket", "parcel", "survey", "forum", "mail", "video", "song", "map")
CROWD = [f"{verb}_{thing}{more}" for verb in VERBS for thing in THINGS for more in ("", "_draft")]


@pytest.mark.parametrize(
    ("message", "needed"),
    [
        ("play a song", "play_song"),
        ("who can share the invoice?", "share_invoice"),
        ("what is on the calendar tomorrow?", "get_calendar"),
    ],
)
@pytest.mark.parametrize("beside", [[], ["exec", "web_search"]])
def test_of_a_crowd_of_unknown_tools_those_stay_that_the_words_point_at(
    client: TestClient, message: str, needed: str, beside: list[str]
) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in [*CROWD, *beside]]
    told = client.post("/v1/preflight", json={"message": message, "tools": tools}).json()
    body = {
        **ASK,
        "context_window": 64_000,
        "messages": [{"role": "user", "content": message}],
        "tools": tools,
    }
    served = client.post("/v1/sessions/new/context", json=body).json()
    sent = [tool["function"]["name"] for tool in served["tools"]]
    assert sent == served["preflight"]["tool_allowlist"] == told["tool_allowlist"]
    assert needed in sent
    assert 16 <= len(sent) < 80
    assert "tools.by_words" in told["reasons"]
    assert served["utilization"]["tools"]["filtered"]


@pytest.mark.parametrize("beside", [[], ["read"]])
@pytest.mark.parametrize("message", ["what is a monad?", "then do the rest of it step by step"])
def test_unknown_tools_stay_where_no_word_points_at_one(
    client: TestClient, message: str, beside: list[str]
) -> None:
    told = client.post("/v1/preflight", json={"message": message, "tools": [*CROWD, *beside]}).json()
    assert set(CROWD) <= set(told["tool_allowlist"] or CROWD)


OTHERS = [name for name in CROWD if not name.startswith(("play", "share")) and "song" not in name]
OFFICE = [
    f"{verb}_{thing}" for verb in ("assign", "merge", "close") for thing in ("lead", "quote", "deal", "case")
]


@pytest.mark.parametrize(
    ("message", "beside"),
    [
        *[("play a song", beside) for beside in ([], ["exec", "read"], ["read"])],
        *[("draw a cat", []), ("buy bitcoin with my wallet", ["exec"]), ("hello there", [])],
    ],
)
def test_of_a_crowd_of_another_kind_a_task_with_tools_of_its_own_keeps_few(
    client: TestClient, message: str, beside: list[str]
) -> None:
    named = [{"type": "function", "function": {"name": name}} for name in [*OTHERS, *OFFICE, *beside]]
    assert len(named) > 128
    told = client.post("/v1/preflight", json={"message": message, "tools": named}).json()
    body = {
        **ASK,
        "context_window": 64_000,
        "messages": [{"role": "user", "content": message}],
        "tools": named,
    }
    served = client.post("/v1/sessions/new/context", json=body).json()
    sent = [tool["function"]["name"] for tool in served["tools"]]
    assert sent == told["tool_allowlist"]
    assert 16 <= len(sent) <= 34
    assert "tools.by_words" in told["reasons"]


@pytest.mark.parametrize(
    "message", ["fix it", "what is a monad?", "status", "do it", "remember my dog's name"]
)
def test_of_a_crowd_of_another_kind_other_tasks_keep_all_unknown_tools(
    client: TestClient, message: str
) -> None:
    told = client.post("/v1/preflight", json={"message": message, "tools": OTHERS}).json()
    assert set(OTHERS) <= set(told["tool_allowlist"] or OTHERS)
