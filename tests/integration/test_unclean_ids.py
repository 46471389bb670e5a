"""Ids in bodies with characters removed or replaced by cleaning: refused, so that no two ids become one."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.http.call import Body
from api.mcp.tools import (
    ArtifactArguments,
    ContextArguments,
    ExpandArguments,
    FindArguments,
    RankArguments,
    read_arguments,
)
from context.errors import AfterturnError
from tests.integration.test_store_faults import rows

UNCLEAN = {"NUL": "a\0b", "NUL at the end": "a\0", "only NUL": "\0", "half of a pair": "a\ud800"}

WORDS = [{"role": "user", "content": "Where is the log?"}]
TURN = {"turn_id": "t1", "messages": WORDS}
CONTEXT = {"model": "gpt-4o", "messages": WORDS, "context_window": 8_000}
PLAN = {"intent": "find the log", "catalog": "tools", "model": "gpt-4o"}
FILE = {"content": "some words"}

PLACES: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/sessions/s/turns", TURN, "turn_id"),
    ("/v1/sessions/s/turns", TURN, "user_id"),
    ("/v1/sessions/s/turns", TURN, "plan.plan_id"),
    ("/v1/sessions/s/turns", TURN, "plan.catalog"),
    ("/v1/turns", {**TURN, "session_id": "s"}, "session_id"),
    ("/v1/turns", {**TURN, "session_id": "s"}, "turn_id"),
    ("/v1/turns", {**TURN, "session_id": "s"}, "user_id"),
    *(
        (f"/v1/sessions/s/{door}", body, field)
        for door, body in (
            ("context", CONTEXT),
            ("compress", {**CONTEXT, "observed_limit": 6_000}),
            ("shadow", {**CONTEXT, "facts": ["log"]}),
        )
        for field in ("user_id", "catalog", "attachments[0].attachment_id")
    ),
    ("/v1/plans", PLAN, "catalog"),
    ("/v1/plans", PLAN, "session_id"),
    ("/v1/plans", PLAN, "user_id"),
    ("/v1/attachments", FILE, "session_id"),
    ("/v1/attachments", FILE, "user_id"),
    ("/v1/preflight", {"message": "Where is the log?"}, "session_id"),
]


def placed(body: dict[str, Any], field: str, value: str) -> dict[str, Any]:
    """The body with an id at a place."""
    outer, _, inner = field.partition(".")
    if not inner:
        return {**body, outer: value}
    if outer.endswith("[0]"):
        return {**body, outer.removesuffix("[0]"): [{inner: value}]}
    return {**body, outer: {"steps": ["read_file"], inner: value}}


def send(client: TestClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """What is said of the body; of the only line of a batch, what is said of the line."""
    answer = client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    said: dict[str, Any] = answer.json()
    return said["results"][0].get("error", {}) if path == "/v1/turns" else said


@pytest.mark.parametrize("unclean", UNCLEAN.values(), ids=UNCLEAN)
@pytest.mark.parametrize(("path", "body", "field"), PLACES)
def test_an_id_is_refused_and_never_cleaned(
    client: TestClient, path: str, body: dict[str, Any], field: str, unclean: str
) -> None:
    said = send(client, path, placed(body, field, unclean))
    assert (said.get("status"), said.get("type"), said.get("field")) == (422, "invalid-input", field), said
    assert not rows("select 1 from turn")


@pytest.mark.parametrize(("path", "body", "field"), PLACES)
def test_a_good_id_is_taken_beside_text_that_is_cleaned(
    client: TestClient, path: str, body: dict[str, Any], field: str
) -> None:
    """A catalog may be unknown, yet the id is no fault of the body."""
    cleaned = {key: f"{value}\0" if key in {"intent", "content"} else value for key, value in body.items()}
    if "messages" in body:
        cleaned["messages"] = [{"role": "user", "content": "Where is\0 the log?"}]
    good = "dave"
    if field.endswith("attachment_id"):
        good = client.post("/v1/attachments", json=FILE).json()["attachment_id"]
    said = send(client, path, placed(cleaned, field, good))
    assert said.get("type") != "invalid-input", said


def test_the_name_of_a_field_is_not_cleaned_into_another(client: TestClient) -> None:
    said = send(client, "/v1/sessions/s/turns", {"turn_id\0": "t1", "messages": WORDS})
    assert (said["status"], said["type"]) == (422, "invalid-input")


@pytest.mark.parametrize("field", ["session_id", "user_id"])
def test_the_owner_of_a_focus_is_not_cleaned(client: TestClient, field: str) -> None:
    artifact_id = client.post("/v1/attachments", json=FILE).json()["attachment_id"]
    path = f"/v1/artifacts/{artifact_id}/summaries"
    refused = client.put(path, json={"focus": "the log", field: "a\0"})
    assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert client.put(path, json={"focus": "the\0 log", field: "a"}).is_success


@pytest.mark.parametrize("unclean", UNCLEAN.values(), ids=UNCLEAN)
@pytest.mark.parametrize(
    ("model", "given", "field"),
    [
        (RankArguments, {"intent": "find"}, "catalog"),
        (FindArguments, {"query": "find"}, "catalog"),
        (ContextArguments, {"model": "gpt-4o", "message": "find"}, "session_id"),
        (ExpandArguments, {"from": 1, "to": 2}, "session_id"),
        (ArtifactArguments, {}, "artifact_id"),
    ],
)
def test_an_id_among_a_tools_arguments_is_refused(
    model: type[Body], given: dict[str, Any], field: str, unclean: str
) -> None:
    with pytest.raises(AfterturnError) as refused:
        read_arguments(model, {**given, field: unclean})
    assert refused.value.numbers["field"] == field


def test_plans_of_a_user_are_asked_for_under_the_id_itself(client: TestClient) -> None:
    answer = client.get("/v1/my-plans?user_id=a%00")
    assert (answer.status_code, answer.json()["field"]) == (422, "user_id")
    assert client.get("/v1/my-plans?user_id=a").status_code == 200


def test_an_id_in_a_query_is_not_cleaned_either(client: TestClient) -> None:
    answer = client.post("/v1/attachments?user_id=a%00", content="x", headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["field"]) == (422, "user_id")


def chat_calls(*ids: str) -> list[dict[str, Any]]:
    """Calls and their results in the format of chat completions."""
    function = {"name": "look", "arguments": "{}"}
    made = [{"id": one, "type": "function", "function": function} for one in ids]
    told = [{"role": "tool", "tool_call_id": one, "content": "found"} for one in ids]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *told]


def block_calls(*ids: str) -> list[dict[str, Any]]:
    """The same in Anthropic's blocks."""
    made = [{"type": "tool_use", "id": one, "name": "look", "input": {}} for one in ids]
    told = [{"type": "tool_result", "tool_use_id": one, "content": "found"} for one in ids]
    return [{"role": "assistant", "content": made}, {"role": "user", "content": told}]


def item_calls(*ids: str) -> list[dict[str, Any]]:
    """The same as items of Responses."""
    made = [{"type": "function_call", "call_id": one, "name": "look", "arguments": "{}"} for one in ids]
    told = [{"type": "function_call_output", "call_id": one, "output": "found"} for one in ids]
    return [*made, *told]


FORMATS = {
    "openai": (chat_calls, "messages[1].tool_calls[1].id"),
    "anthropic": (block_calls, "messages[1].content[1].id"),
    "responses": (item_calls, "messages[2].call_id"),
}


@pytest.mark.parametrize("unclean", ["a\0", "a\ud800"], ids=["NUL", "half of a pair"])
@pytest.mark.parametrize("wire", FORMATS)
@pytest.mark.parametrize("door", ["turns", "context"])
def test_ids_of_calls_are_refused_and_two_never_become_one(
    client: TestClient, door: str, wire: str, unclean: str
) -> None:
    calls, field = FORMATS[wire]
    body = {**(TURN if door == "turns" else CONTEXT), "wire": wire}
    said = send(client, f"/v1/sessions/s/{door}", {**body, "messages": [*WORDS, *calls("a", unclean)]})
    assert (said.get("status"), said.get("type"), said.get("field")) == (422, "invalid-input", field), said
    assert not rows("select 1 from turn")


def test_the_id_of_a_result_is_refused_too(client: TestClient) -> None:
    messages = [*WORDS, *chat_calls("a")]
    messages[2] = {**messages[2], "tool_call_id": "a\0"}
    said = send(client, "/v1/sessions/s/turns", {**TURN, "messages": messages})
    assert (said["status"], said["field"]) == (422, "messages[2].tool_call_id")


def test_data_of_a_call_is_cleaned_and_other_characters_of_its_id_stay(client: TestClient) -> None:
    """An id among the arguments is data; a control character other than NUL is no fault of an id."""
    messages = [*WORDS, *block_calls("a\x07b", "a b")]
    messages[1]["content"][0]["input"] = {"id": "x\0"}
    said = send(client, "/v1/sessions/s/turns", {**TURN, "wire": "anthropic", "messages": messages})
    assert said.get("turn_id") == "t1", said
    [row] = rows("select call_ids from message where seq = 2")
    assert list(row[0]) == ["a\x07b", "a b"]
