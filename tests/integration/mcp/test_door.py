"""The door to the Model Context Protocol: whose key it is first, then a real client and a real server."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from sqlalchemy import Engine, text

from afterturn.stack.compose import ReservedPorts
from api.mcp.tools import TOOLS
from api.settings import api_settings
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.agents import ERAS, MESSAGES, Agent, listening, request, said
from tests.integration.conftest import make_key
from tests.integration.test_api_weight import NOT_FOR_THE_API, loaded, serving
from tests.waiting import wait_until

BUDGETS = "afterturn://context-budgets"
PLANS = "afterturn://my-plans"
CATALOG = [{"name": "mail.send", "description": "Sends a mail. Slowly."}]
SAID = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "welcome"}]


def plan_by_turn(writer: Agent) -> None:
    """A turn that went by a plan."""
    plan = {"intent": "send a mail", "steps": [{"tool": "mail.send"}]}
    turn = {"turn_id": "t1", "messages": SAID, "plan": plan}
    assert writer.http("POST", "/v1/sessions/s/turns", json=turn).status_code == 202


@pytest.mark.parametrize("era", ERAS)
def test_a_client_learns_whom_it_talks_to(agent: Agent, era: str) -> None:
    async def look(client: Client) -> tuple[Any, ...]:
        assert client.server_info is not None
        capabilities = client.server_capabilities
        return (
            client.server_info.name,
            "read_context" in (client.instructions or ""),
            capabilities.tools is not None,
            capabilities.resources is not None,
            capabilities.prompts is not None,
        )

    assert agent.do(look, era) == ("afterturn", True, True, True, True)


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_is_listed_with_what_it_takes_and_answers(agent: Agent, era: str) -> None:
    listed = agent.do(lambda client: client.list_tools(), era).tools
    assert [tool.name for tool in listed] == list(TOOLS)
    for tool in listed:
        described = tool.input_schema["properties"].values()
        assert all(field["type"] and field["description"] for field in described)
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint


@pytest.mark.parametrize("era", ERAS)
def test_both_resources_are_listed_and_read_as_over_http(agent: Agent, writer: Agent, era: str) -> None:
    plan_by_turn(writer)
    listed = agent.do(lambda client: client.list_resources(), era).resources
    assert [resource.uri for resource in listed] == [BUDGETS, PLANS]
    budgets, plans = (agent.read(resource.uri, era) for resource in listed)
    assert budgets == agent.http("GET", "/v1/context-budgets").json()
    assert plans == agent.http("GET", "/v1/my-plans").json()
    assert "send a mail" in str(plans)


def test_there_are_no_resource_templates(agent: Agent) -> None:
    assert agent.do(lambda client: client.list_resource_templates()).resource_templates == []


@pytest.mark.parametrize("body", [b"{", b"x" * (api_settings().mcp_max_body_bytes + 1)])
@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer aft_0_wrong"])
def test_without_a_key_in_force_nothing_is_read(agent: Agent, header: str, body: bytes) -> None:
    answer = agent.send(body, authorization=header)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["type"] == "unauthorized"


def test_a_client_with_a_wrong_key_does_not_get_in(agent: Agent) -> None:
    with pytest.raises(MCPError, match="error response"):
        Agent(agent.url, "wrong").do(lambda client: client.list_tools())


def test_a_key_that_may_not_read_is_refused(agent: Agent, tenant_id: UUID) -> None:
    answer = Agent(agent.url, make_key(tenant_id, "write")).send(request("tools/list"))
    assert (answer.status_code, answer.json()["type"]) == (403, "forbidden")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_to_listen_to_and_no_session_to_end(agent: Agent, method: str) -> None:
    headers = {"accept": "text/event-stream"}
    assert httpx.request(method, f"{agent.url}/mcp", headers=headers).status_code == 401
    answer = httpx.request(method, f"{agent.url}/mcp", headers={**headers, **agent.headers})
    assert (answer.status_code, answer.json()["type"]) == (405, "method-not-allowed")


def test_a_body_over_the_limit_is_refused_with_the_limit(agent: Agent) -> None:
    limit = api_settings().mcp_max_body_bytes
    answer = agent.send(b" " * (limit + 1))
    assert (answer.status_code, answer.json()["type"], answer.json()["limit"]) == (413, "too-large", limit)


def test_a_large_message_within_the_limit_is_read(agent: Agent) -> None:
    message = "The pallet waits. " * 80_000
    window = {"context_window": 1_000_000, "max_tokens": 1_000}
    answer = agent.answer("read_context", session_id="s", model="gpt-4o", message=message, **window)
    assert answer["messages"][-1]["content"] == message


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b"{", -32700, id="no JSON"),
        pytest.param(b"[]", -32600, id="no message"),
        pytest.param(b"5", -32600, id="no object"),
        pytest.param(b"{}", -32600, id="nothing in it"),
        pytest.param(request("tools/burn"), -32601, id="no such method"),
        pytest.param(request("tools/call", name="burn", arguments={}), -32602, id="no such tool"),
        pytest.param(request("tools/call", arguments={}), -32602, id="no tool"),
        pytest.param(request("resources/read", uri="afterturn://x"), -32602, id="no such resource"),
    ],
)
def test_what_is_not_of_the_protocol_is_an_error_of_the_protocol(agent: Agent, body: Any, code: int) -> None:
    answer = agent.send(body)
    assert answer.json()["error"]["code"] == code
    assert "Traceback" not in answer.text
    assert "validation error" not in answer.text


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_or_resource_that_is_none_is_refused_by_the_protocol(agent: Agent, era: str) -> None:
    with pytest.raises(MCPError, match="Unknown tool") as tool:
        agent.call("burn", era)
    with pytest.raises(MCPError, match="Unknown resource") as resource:
        agent.read("afterturn://their-plans", era)
    assert (tool.value.code, resource.value.code) == (-32602, -32602)


def test_a_real_host_name_is_served(agent: Agent) -> None:
    answer = agent.send(request("tools/list"), host="afterturn.example.com", origin="https://example.com")
    assert len(answer.json()["result"]["tools"]) == len(TOOLS)


def test_any_process_answers_the_next_call(agent: Agent, writer: Agent) -> None:
    writer.http("PUT", "/v1/catalogs/main", json=CATALOG)
    opening = request(
        "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x", "version": "1"}
    )
    ranking = request("tools/call", name="rank_catalog", arguments={"catalog": "main", "intent": "mail"})
    with listening() as other_url:
        first = agent.send(opening)
        assert "mcp-session-id" not in first.headers
        assert first.json()["result"]["protocolVersion"] == "2025-06-18"
        other = Agent(other_url, agent.key)
        answer = other.send(ranking, **{"mcp-protocol-version": "2025-06-18"}).json()["result"]
    assert answer["structuredContent"]["entries"][0]["id"] == "mail.send"


def is_held_up() -> bool:
    waits = "select 1 from pg_locks where relation = 'message'::regclass and not granted"
    with session.read_transaction() as db:
        return db.execute(text(waits)).first() is not None


def test_a_call_that_waits_for_the_database_keeps_no_other_waiting(
    agent: Agent, writer: Agent, empty_db: Engine
) -> None:
    writer.http("PUT", "/v1/catalogs/main", json=CATALOG)
    turn = {"turn_id": "t1", "messages": SAID}
    assert writer.http("POST", "/v1/sessions/s/turns", json=turn).status_code == 202

    async def both() -> tuple[bool, Any, Any]:
        async with agent.connected() as client:
            with empty_db.begin() as holder:
                holder.execute(text("lock table message in access exclusive mode"))
                held = asyncio.create_task(
                    client.call_tool("expand_summary", {"session_id": "s", "from": 1, "to": 2})
                )
                await asyncio.to_thread(wait_until, is_held_up, within_s=30, what="the first waits")
                ranked = await client.call_tool("rank_catalog", {"catalog": "main", "intent": "mail"})
                waits = not held.done()
            return waits, ranked, await held

    waits, ranked, expanded = asyncio.run(both())
    assert waits
    assert ranked.structured_content["entries"][0]["id"] == "mail.send"
    assert expanded.structured_content["turns"][0]["messages"] == SAID


def test_many_calls_at_once_get_their_own_answers(agent: Agent, writer: Agent) -> None:
    for number in range(8):
        messages = [{**SAID[0], "content": f"I am {number}"}, SAID[1]]
        turn = {"turn_id": "t1", "messages": messages}
        assert writer.http("POST", f"/v1/sessions/s{number}/turns", json=turn).status_code == 202

    async def all_at_once(client: Client) -> list[Any]:
        calls = (
            client.call_tool("expand_summary", {"session_id": f"s{number % 8}", "from": 1, "to": 1})
            for number in range(24)
        )
        return await asyncio.gather(*calls)

    for number, result in enumerate(agent.do(all_at_once)):
        assert result.structured_content["turns"][0]["messages"][0]["content"] == f"I am {number % 8}"


def test_the_protocol_is_loaded_by_its_first_caller_and_by_no_stranger(
    tenant_id: UUID, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    key = {"authorization": f"Bearer {make_key(tenant_id)}"}
    with ReservedPorts() as ports, serving(ports.reserve(0), told) as client:
        assert client.get("/readyz").status_code == 200
        assert client.post("/mcp", json=request("tools/list")).status_code == 401
        assert "mcp" not in loaded(told.read_text())
        answer = client.post("/mcp", json=request("tools/list"), headers={**MESSAGES, **key}, timeout=60)
        assert len(answer.json()["result"]["tools"]) == len(TOOLS)
        wait_until(lambda: "mcp" in loaded(told.read_text()), within_s=60, what="its import is told of")
    assert not loaded(told.read_text()) & NOT_FOR_THE_API
    assert "asked for" not in told.read_text()


def test_a_tenant_sees_nothing_of_another(agent: Agent, writer: Agent) -> None:
    writer.http("PUT", "/v1/catalogs/main", json=CATALOG)
    plan_by_turn(writer)
    document = writer.http("POST", "/v1/attachments", json={"content": "the secret of berth 4"}).json()
    with session.transaction() as db:
        second = ensure_tenant(db, "second")
    stranger = Agent(agent.url, make_key(second))
    asked: list[tuple[str, dict[str, Any]]] = [
        ("rank_catalog", {"catalog": "main", "intent": "mail"}),
        ("find_tools", {"catalog": "main", "query": "mail"}),
        ("expand_summary", {"session_id": "s", "from": 1, "to": 2}),
        ("read_artifact", {"artifact_id": document["artifact_id"]}),
        ("read_artifact", {"artifact_id": document["artifact_id"], "from": 0, "to": 9}),
        ("read_artifact", {"artifact_id": document["artifact_id"], "focus": "berth"}),
    ]
    for tool, arguments in asked:
        assert not agent.call(tool, **arguments).is_error or "focus" in arguments
        assert stranger.refusal(tool, **arguments)["type"] == "not-found"
    window = stranger.call("read_context", session_id="s", model="gpt-4o", message="And now?")
    assert "welcome" not in said(window)
    assert "send a mail" in str(agent.read(PLANS))
    assert "send a mail" not in str(stranger.read(PLANS))
