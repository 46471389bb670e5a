"""The tools of a window: those that bear on the message, in the room there is; never more than came."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.reading import Platform

PLAIN_TOOLS = {
    "exec": "Run a shell command.",
    "read": "Read a file.",
    "write": "Write a file.",
    "edit": "Edit a file.",
    "apply_patch": "Apply a patch to files.",
    "process": "Look after running processes.",
    "message": "Send a message to the user.",
    "web_fetch": "Fetch a page of the web.",
    "web_search": "Search the web.",
    "memory_search": "Search what is remembered.",
    "memory_get": "Get one thing that is remembered.",
}


def tool(name: str, description: str = "Does a thing.", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [tool(name, description) for name, description in PLAIN_TOOLS.items()]


@pytest.fixture
def platform(client: TestClient, tenant_id: Any) -> Platform:
    return Platform(client, tenant_id, server=None)  # type: ignore[arg-type]


def names(answer: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] for one in answer["tools"]]


def test_a_greeting_is_sent_with_the_tools_of_a_greeting(platform: Platform) -> None:
    answer = platform.ask("hey, thanks!", tools=TOOLS)
    assert names(answer) == ["message"]
    assert answer["preflight"]["categories"] == ["casual"]
    assert answer["preflight"]["hidden"] == len(TOOLS) - 1
    assert set(answer["utilization"]["tools"]["filtered"]) == set(PLAIN_TOOLS) - {"message"}


def test_what_is_hidden_is_named_in_the_certificate(platform: Platform) -> None:
    answer = platform.ask("hey, thanks!", tools=TOOLS)
    left_out = [one for one in answer["certificate"]["excluded"] if one["what"].startswith("tool ")]
    assert len(left_out) == len(TOOLS) - 1
    assert {one["why"] for one in left_out} == {"not-wanted-by-preflight"}


def test_a_message_that_is_not_recognized_keeps_every_tool(platform: Platform) -> None:
    answer = platform.ask("Zorblax quindle?", tools=TOOLS)
    assert names(answer) == list(PLAIN_TOOLS)
    assert answer["preflight"]["tool_allowlist"] is None


def test_a_tool_that_history_calls_stays_whatever_the_message_says(platform: Platform) -> None:
    platform.turn("Look.", "hall seven", tool="web_fetch")
    assert set(names(platform.ask("hey, thanks!", tools=TOOLS))) == {"message", "web_fetch"}


def test_a_tool_of_the_callers_own_stays_where_the_words_point_at_it(platform: Platform) -> None:
    own = tool("book_berth", "Book a berth for a ship in the harbour.")
    answer = platform.ask("Search the web and book a berth for the ship.", tools=[*TOOLS, own])
    assert "book_berth" in names(answer)


@pytest.mark.parametrize("kind", ["heartbeat", "subagent", "cron"])
def test_what_no_user_wrote_keeps_every_tool_and_its_words(platform: Platform, kind: str) -> None:
    answer = platform.ask("hey, thanks!", tools=TOOLS, kind=kind)
    assert names(answer) == list(PLAIN_TOOLS)
    assert answer["messages"][-1]["content"] == "hey, thanks!"


def test_what_no_user_wrote_does_not_change_what_the_session_is_about(platform: Platform) -> None:
    platform.turn("Fix the bug in parser.py.", "Done.")
    platform.ask("Fix the bug in parser.py.", tools=TOOLS)
    platform.ask("What is the weather in Oslo?", tools=TOOLS, kind="cron")
    answer = platform.ask("yes, go", tools=TOOLS)
    assert answer["preflight"]["inherited"] is True
    assert "coding" in answer["preflight"]["categories"]
    assert "research" not in answer["preflight"]["categories"]


def test_a_kind_that_is_none_is_refused(client: TestClient) -> None:
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}], "kind": "robot"}
    answer = client.post("/v1/sessions/s1/context", json=request)
    assert (answer.status_code, answer.json()["field"]) == (422, "kind")


def test_the_hint_is_told_beside_the_window_and_never_in_the_users_words(platform: Platform) -> None:
    answer = platform.ask("hey, thanks!", tools=TOOLS, system_prompt="Be kind.")
    assert answer["preflight"]["hint"].startswith("[Context: casual")
    assert [message["content"] for message in answer["messages"]] == ["Be kind.", "hey, thanks!"]


def test_a_request_may_want_the_hint_in_the_system_prompt(platform: Platform) -> None:
    answer = platform.ask("hey, thanks!", tools=TOOLS, system_prompt="Be kind.", hint="system")
    hint = answer["preflight"]["hint"]
    assert [message["content"] for message in answer["messages"]] == [f"Be kind.\n\n{hint}", "hey, thanks!"]


def test_a_request_may_want_the_hint_in_a_block_of_its_own(platform: Platform) -> None:
    answer = platform.ask("hey, thanks!", tools=TOOLS, hint="block")
    first, second = answer["messages"][-1]["content"]
    assert first["text"] == answer["preflight"]["hint"]
    assert second["text"] == "hey, thanks!"


@pytest.mark.parametrize("place", ["system", "block"])
def test_a_hint_without_tools_stands_where_it_is_wanted_too(platform: Platform, place: str) -> None:
    answer = platform.ask("what is the price of bitcoin?", system_prompt="Be kind.", hint=place)
    hint = answer["preflight"]["hint"]
    assert "| tools: none |" in hint
    system, new = (message["content"] for message in answer["messages"])
    assert (system, new if place == "system" else new[0]["text"]) == (
        (f"Be kind.\n\n{hint}", "what is the price of bitcoin?") if place == "system" else ("Be kind.", hint)
    )


def test_of_more_tools_than_a_provider_takes_the_hint_says_how_many_are_there(platform: Platform) -> None:
    crowd = [tool(f"thing_{n}", f"Looks after thing number {n} of the depot.") for n in range(200)]
    answer = platform.ask("Go on, then see to the rest.", tools=crowd, model="gpt-4.1")
    assert len(answer["tools"]) == 128
    assert "| tools: 128 of 200 |" in answer["preflight"]["hint"]
    told = answer["utilization"]["tools"]
    assert told["hint"].startswith("72 more tools are not shown")
    assert (len(set(told["hidden"])), told["hidden_count"]) == (20, 72)


def test_an_answer_names_the_first_tools_left_out_and_counts_the_rest(platform: Platform) -> None:
    crowd = [tool(f"thing_{n}", f"Looks after thing number {n} of the depot.") for n in range(200)]
    said: dict[str, Any] = {"tools": crowd, "model": "gpt-4.1"}
    short = platform.ask("Go on, then see to the rest.", **said)
    whole = platform.ask("Go on, then see to the rest.", explain=True, **said)
    told, every = (answer["utilization"]["tools"] for answer in (short, whole))
    assert (told["hidden"], told["hidden_count"]) == (every["hidden"][:20], 72)
    assert len(every["hidden"]) == every["hidden_count"] == 72
    left_out = [one["what"] for one in short["certificate"]["excluded"]]
    assert left_out == [*(f"tool {name}" for name in told["hidden"]), "52 more tools"]
    assert [one["what"] for one in whole["certificate"]["excluded"]] == [
        f"tool {name}" for name in every["hidden"]
    ]
    assert short["tools"] == whole["tools"]


def test_a_tool_that_came_twice_is_named_once(platform: Platform) -> None:
    crowd = [tool(f"thing_{n % 100}", f"Looks after thing number {n % 100}.") for n in range(200)]
    answer = platform.ask("Who looks after thing number 7?", tools=crowd, model="gpt-4.1", top_n=20)
    hidden = answer["utilization"]["tools"]["hidden"]
    assert len(hidden) == len(set(hidden))
    assert set(hidden).isdisjoint(names(answer))
    excluded = [one["what"] for one in answer["certificate"]["excluded"]]
    assert len(excluded) == len(set(excluded))


def test_a_request_may_want_fewer_tools(platform: Platform) -> None:
    crowd = [tool(f"thing_{n}", f"Looks after thing number {n} of the depot.") for n in range(60)]
    answer = platform.ask("Who looks after thing number 7?", tools=crowd, top_n=5)
    assert len(answer["tools"]) == 5
    assert "thing_7" in names(answer)


def test_a_tenant_can_switch_filtering_and_the_hint_off(platform: Platform) -> None:
    config = {"toolFiltering": False, "promptAnnotation": False}
    assert platform.client.put("/v1/preflight/config", json=config).status_code == 200
    answer = platform.ask("hey, thanks!", tools=TOOLS)
    assert names(answer) == list(PLAIN_TOOLS)
    assert answer["messages"][-1]["content"] == "hey, thanks!"


def test_sections_of_skills_go_with_their_tools(platform: Platform) -> None:
    prompt = "Be kind.\n\n## Skill: web_fetch\nFetch pages gently.\n\n## Style\nShort."
    answer = platform.ask("hey, thanks!", tools=TOOLS, system_prompt=prompt)
    assert "gently" not in answer["messages"][0]["content"]
    assert "Short." in answer["messages"][0]["content"]
    assert {"what": "skill web_fetch", "why": "not-wanted-by-preflight", "tokens": None} in (
        answer["certificate"]["excluded"]
    )


def test_many_tools_are_cut_to_the_room_and_the_best_stay(platform: Platform) -> None:
    crowd = [tool(f"thing_{n}", f"Looks after thing number {n} of the depot. " * 5) for n in range(150)]
    crowd.insert(77, tool("weigh_crate", "Weigh a crate on the scales of the depot."))
    answer = platform.ask("Weigh the crate on the scales.", tools=crowd, context_window=4_000, max_tokens=300)
    assert "weigh_crate" in names(answer)
    assert len(answer["tools"]) < len(crowd)
    assert answer["utilization"]["tools"]["hidden_count"] == len(crowd) - len(answer["tools"])
    assert answer["certificate"]["fits"]


def test_tools_that_fit_go_out_as_they_came(platform: Platform) -> None:
    assert platform.ask("Zorblax quindle?", tools=TOOLS)["tools"] == TOOLS


def test_a_list_that_lost_every_tool_is_no_list(platform: Platform) -> None:
    without_message = [one for one in TOOLS if one["function"]["name"] != "message"]
    answer = platform.ask("hey, thanks!", tools=without_message)
    assert answer["tools"] is None
    assert answer["utilization"]["tools"]["sent"] == 0


@pytest.mark.parametrize(
    ("model", "most"), [("gpt-4o", 128), ("gemini-2.0-flash", 512), ("claude-opus-4", 600)]
)
def test_no_more_tools_go_out_than_a_provider_takes(platform: Platform, model: str, most: int) -> None:
    crowd = [tool(f"thing_{n}", f"Looks after thing {n}.") for n in range(599)]
    crowd.append(tool("weigh_crate", "Weigh a crate on the scales."))
    asked = {"model": model, "context_window": 400_000, "max_tokens": 300}
    answer = platform.ask("Weigh the crate on the scales.", tools=crowd, **asked)
    assert len(answer["tools"]) == most
    assert "weigh_crate" in names(answer)


def test_tools_that_history_calls_are_sent_though_a_weak_model_is_shown_fewer(platform: Platform) -> None:
    called = ["thing_0", "thing_1", "thing_2"]
    for name in called:
        platform.turn("Look.", "hall seven", tool=name)
    schema = {f"field_{n}": {"type": "string", "enum": ["red " * 20]} for n in range(120)}
    heavy = [tool(name, "Looks after things.", **schema) for name in (*called, "other")]
    asked = {"model": "my-own-model", "max_tokens": 300, "tools": heavy}
    answer = platform.ask("Zorblax quindle?", context_window=64_000, **asked)
    assert names(answer) == called
    assert answer["utilization"]["tools"]["hidden"] == ["other"]
    refused = platform.client.post(
        f"/v1/sessions/{platform.session_id}/context",
        json={"messages": [{"role": "user", "content": "x"}], "context_window": 4_000, **asked},
    )
    problem = refused.json()
    assert (refused.status_code, problem["type"].rpartition("/")[2]) == (422, "context-over-budget")
    assert sum(problem["parts"].values()) == problem["budget_tokens"] + problem["over_by"]
    assert problem["parts"]["tools"] > problem["budget_tokens"], "called tools alone are too large"
    assert "catalog" not in problem["detail"], "the request names none"


def test_tools_of_the_request_that_do_not_serve_the_message_come_with_a_warning(platform: Platform) -> None:
    own = [tool("weigh", "Weigh a crate on the scales."), tool("count", "Count crates.")]
    answer = platform.ask("Compose a symphony for violin and oboe.", tools=own)
    assert answer["utilization"]["tools"]["gap_warning"]


def test_pipelines_of_a_catalog_are_named_as_left_out(platform: Platform) -> None:
    packs = [{"name": "weigh", "description": "Weigh a crate."}, {"name": "count", "description": "Count."}]
    pipelines = [{"id": "weigh-all", "description": "Weigh every crate.", "steps": ["count", "weigh"]}]
    stored = platform.client.put("/v1/catalogs/depot", json={"tools": packs, "pipelines": pipelines})
    assert stored.status_code in (200, 201), stored.text
    answer = platform.ask("Weigh every crate.", catalog="depot")
    left_out = {(one["what"], one["why"]) for one in answer["certificate"]["excluded"]}
    assert ("pipeline weigh-all", "not-a-tool") in left_out


@pytest.mark.parametrize("wire", ["openai", "anthropic", "responses"])
def test_a_stored_catalog_stands_for_tools(platform: Platform, wire: str) -> None:
    packs = [
        {
            "name": f"depot.{verb}",
            "description": f"{verb} crates in the depot",
            "inputSchema": {"type": "object"},
        }
        for verb in ("weigh", "move", "count")
    ]
    assert platform.client.put("/v1/catalogs/depot", json={"tools": packs}).status_code == 200
    answer = platform.ask("Weigh the crates.", catalog="depot", wire=wire)
    sent = answer["tools"][0]
    assert (sent["function"] if wire == "openai" else sent)["name"].startswith("depot_")
    assert answer["utilization"]["tools"]["entry_ids"]["depot_weigh"] == "depot.weigh"
    assert answer["utilization"]["breakdown"]["tools"] > 0


def test_a_question_that_no_entry_serves_comes_with_a_warning(platform: Platform) -> None:
    packs = [
        {"name": "weigh", "description": "Weigh a crate on the scales"},
        {"name": "count", "description": "Count crates"},
    ]
    platform.client.put("/v1/catalogs/depot", json={"tools": packs})
    answer = platform.ask("Compose a symphony for violin and oboe.", catalog="depot")
    assert answer["utilization"]["tools"]["gap_warning"]


def test_a_tool_that_was_taken_out_of_a_catalog_is_named_where_it_is_asked_for(platform: Platform) -> None:
    kept = {"name": "crate.move", "description": "Move a crate to another hall."}
    gone = {"name": "crate.weigh", "description": "Weigh a crate on the scales."}
    for tools in ([kept, gone], [kept]):
        platform.client.put("/v1/catalogs/depot", json={"tools": tools})
    answer = platform.ask("Weigh the crate on the scales.", catalog="depot")
    assert "'crate.weigh'" in answer["utilization"]["tools"]["gap_warning"]


@pytest.mark.parametrize(
    ("fields", "status"), [({"catalog": "none"}, 404), ({"catalog": "none", "tools": TOOLS}, 422)]
)
def test_a_catalog_that_cannot_be_used_says_why(
    client: TestClient, fields: dict[str, Any], status: int
) -> None:
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}], **fields}
    answer = client.post("/v1/sessions/s1/context", json=request)
    assert answer.status_code == status, answer.text
    assert "catalog" in answer.json()["detail"]


def test_a_models_override_needs_to_be_allowed(client: TestClient) -> None:
    request = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "x"}],
        "planner_model": "some/other",
    }
    answer = client.post("/v1/sessions/s1/context", json=request)
    assert answer.status_code == 422
    assert "planner_model" in answer.json()["detail"]
