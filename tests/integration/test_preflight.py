"""Preflight over HTTP: the contract, the tenant's policy, and sessions that go on with a task."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from structlog.testing import capture_logs

from api.preflight.decide import policies
from context.preflight.types import Category
from context.priors.evaluate import factors_to_bytes
from context.text.sanitize import MAX_TOOL_NAME_CHARS
from models import database as session
from models.preflight.settings import preflight_settings
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key

TOOLS = ["message", "exec", "read", "write", "edit", "web_search", "web_fetch", "memory_search", "browser"]
SESSION = "s1"


@pytest.fixture(autouse=True)
def fresh_policies() -> Iterator[None]:
    """No policy of another test is remembered."""
    policies.forget()
    yield
    preflight_settings.cache_clear()


def ask(client: TestClient, message: str, **fields: Any) -> Any:
    answer = client.post("/v1/preflight", content=json.dumps({"message": message, **fields}).encode())
    assert answer.status_code == 200, answer.text
    return answer.json()


def put(client: TestClient, **policy: Any) -> Any:
    return client.put("/v1/preflight/config", content=json.dumps(policy).encode())


def say(
    client: TestClient, content: str, turn_id: str, *calls: str, session_id: str = SESSION, **fields: Any
) -> None:
    made = [
        {"id": f"{turn_id}-{place}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for place, name in enumerate(calls)
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if made:
        messages.append({"role": "assistant", "content": None, "tool_calls": made})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in made]
    messages.append({"role": "assistant", "content": "There."})
    event = {"turn_id": turn_id, "messages": messages, **fields}
    answer = client.post(f"/v1/sessions/{session_id}/turns", content=json.dumps(event).encode())
    assert answer.status_code == 202, answer.text


def rows(statement: str) -> list[Any]:
    with session.read_transaction() as db:
        return list(db.execute(text(statement)))


def test_the_answer_says_what_the_message_is_about_and_what_follows(client: TestClient) -> None:
    answer = ask(client, "search for Solana DEX fee comparison", tools=TOOLS)
    assert answer["categories"] == ["research", "crypto"]
    assert answer["tool_allowlist"] == ["message", "exec", "read", "web_search", "web_fetch"]
    assert answer["hidden"] == 4
    assert answer["memory"] == {"max_facts": 10, "max_tokens": 400}
    assert answer["thinking_level"] == "medium"
    assert answer["hint"].startswith("[Context: research + crypto task | tools: message, exec")
    assert answer["inherited"] is False
    assert answer["policy_version"] == 0
    assert answer["scores"]["crypto"] >= 1.0
    assert 0.0 < answer["confidence"] < 1.0
    assert answer["reasons"]


def test_tools_may_be_definitions_and_attachments_objects(client: TestClient) -> None:
    tools = [
        {"type": "function", "function": {"name": "exec", "parameters": {}}},
        {"name": "memory_get", "inputSchema": {}},
    ]
    answer = ask(client, "look here", tools=tools, attachments=[{"media_type": "image/png"}])
    assert answer["categories"] == ["media"]
    assert answer["tool_allowlist"] == ["exec"]


def test_what_no_user_wrote_passes(client: TestClient) -> None:
    assert ask(client, "hello", kind="cron", tools=TOOLS)["tool_allowlist"] is None


def test_what_cannot_be_used_is_refused_by_name(client: TestClient) -> None:
    for body, field in (
        ({"message": "x", "tool": []}, "tool"),
        ({"message": "x", "kind": "robot"}, "kind"),
        ({"message": "x", "tools": ["a", ""]}, "tools[1]"),
        ({"message": "x", "session_id": "a/b"}, "session_id"),
    ):
        answer = client.post("/v1/preflight", content=json.dumps(body).encode())
        assert answer.status_code == 422, body
        assert answer.json()["field"] == field


def test_a_follow_up_inherits_what_its_session_is_about(client: TestClient) -> None:
    say(client, "hello", "t1")
    first = ask(client, "fix the bug in parser.py", session_id=SESSION, tools=TOOLS)
    assert "coding" in first["categories"]
    say(client, "fix the bug in parser.py", "t2")
    thanks = ask(client, "thanks!", session_id=SESSION, tools=TOOLS)
    assert thanks["categories"] == ["casual"]
    answer = ask(client, "yes, go", session_id=SESSION, tools=TOOLS)
    assert answer["inherited"] is True
    assert "coding" in answer["categories"]
    assert "write" in answer["tool_allowlist"]


def test_a_session_that_nobody_classified_is_known_by_what_was_asked_in_it(client: TestClient) -> None:
    say(client, "fix the bug in parser.py", "t1")
    say(client, "ok", "t2")
    answer = ask(client, "yes please, do it", session_id=SESSION, tools=TOOLS)
    assert answer["inherited"] is True
    assert "coding" in answer["categories"]


def test_a_session_of_another_tenant_lends_nothing(client: TestClient) -> None:
    say(client, "fix the bug in parser.py", "t1")
    ask(client, "fix the bug in parser.py", session_id=SESSION, tools=TOOLS)
    with session.transaction() as db:
        other = ensure_tenant(db, "second")
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    answer = ask(client, "yes, go", session_id=SESSION, tools=TOOLS)
    assert answer["inherited"] is False
    assert answer["tool_allowlist"] is None


def test_a_policy_is_in_force_from_the_next_request_on_and_counts_its_versions(client: TestClient) -> None:
    assert client.get("/v1/preflight/config").json()["policy_version"] == 0
    policy = {"alwaysInclude": ["browser"], "categories": {"casual": {"extraPatterns": ["ahoy*"]}}}
    answer = put(client, **policy).json()
    assert answer["policy_version"] == 1
    assert answer["config"]["alwaysInclude"] == ["browser"]
    assert answer["config"]["complexThreshold"] == 300
    assert put(client, **policy).json()["policy_version"] == 1
    found = ask(client, "ahoyahoy", tools=TOOLS)
    assert found["policy_version"] == 1
    assert found["categories"] == ["casual"]
    assert found["tool_allowlist"] == ["message", "browser"]
    assert put(client, enabled=False).json()["policy_version"] == 2
    assert ask(client, "ahoyahoy", tools=TOOLS)["hint"] is None
    assert client.get("/v1/preflight/config").json()["config"]["enabled"] is False


def test_a_wrong_policy_is_refused_and_changes_nothing(client: TestClient) -> None:
    for policy, field in (
        ({"enable": True}, "enable"),
        ({"complexThreshold": 0}, "complexThreshold"),
        ({"categories": {"cooking": {}}}, "categories.cooking"),
        ({"categories": {"coding": {"extraPatterns": ["(a+)+$"]}}}, "categories.coding.extraPatterns[0]"),
    ):
        answer = put(client, **policy)
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"] == field
    assert client.get("/v1/preflight/config").json()["policy_version"] == 0


def test_a_key_that_may_only_read_puts_no_policy(client: TestClient, tenant_id: UUID) -> None:
    client.headers["Authorization"] = f"Bearer {make_key(tenant_id, 'read')}"
    assert put(client, enabled=False).status_code == 403


def test_the_log_names_categories_and_counts_and_no_word_of_the_message(client: TestClient) -> None:
    with capture_logs() as logs:
        ask(client, "what is the weather in Xanadu?", tools=TOOLS)
    (line,) = [line for line in logs if line["event"] == "preflight_classified"]
    assert line["categories"] == ["research"]
    assert (line["tools_kept"], line["tools_all"]) == (5, len(TOOLS))
    assert (line["max_facts"], line["max_tokens"], line["thinking"]) == (10, 400, "low")
    assert line["ms"] >= 0
    assert "Xanadu" not in json.dumps(logs, default=str)


def test_settings_are_the_policy_of_tenants_without_one(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_PREFLIGHT_TOOL_FILTERING", "false")
    monkeypatch.setenv("AFTERTURN_PREFLIGHT_ALWAYS_INCLUDE", '["ask"]')
    preflight_settings.cache_clear()
    assert ask(client, "what is the weather?", tools=TOOLS)["tool_allowlist"] is None
    assert client.get("/v1/preflight/config").json()["config"]["alwaysInclude"] == ["ask"]


def test_learned_factors_count_from_the_next_policy_on(client: TestClient, tenant_id: UUID) -> None:
    message = "a token and a balance"
    before = ask(client, message)["scores"]["crypto"]
    with session.transaction() as db:
        db.execute(
            text(
                "insert into prior_set (tenant_id, kind, name, version, state, blob, watermark, evidence, "
                "evaluation, reason, activated_at) values (:tenant_id, 'categories', '', 1, 'active', :blob, "
                "0, 1, '{}', 'a test', now())"
            ),
            {"tenant_id": tenant_id, "blob": factors_to_bytes({Category.CRYPTO: 1.5})},
        )
    policies.forget()
    assert ask(client, message)["scores"]["crypto"] == pytest.approx(1.5 * before, abs=0.002)
    assert client.get("/v1/preflight/config").json()["learned_factors"] == {"crypto": 1.5}


def test_what_a_user_asks_about_tips_the_scales(client: TestClient, tenant_id: UUID) -> None:
    message = "a token and a balance"
    say(client, "hello", "t1", user_id="u1")
    before = ask(client, message, session_id=SESSION)["scores"]
    with session.transaction() as db:
        db.execute(
            text("insert into user_profile values (:tenant_id, 'u1', 'crypto', 20)"), {"tenant_id": tenant_id}
        )
    after = ask(client, message, session_id=SESSION)["scores"]
    assert after["crypto"] == pytest.approx(before["crypto"] + 0.2, abs=0.002)
    assert after["coding"] == before["coding"]


@pytest.mark.parametrize(("length", "status"), [(MAX_TOOL_NAME_CHARS, 200), (MAX_TOOL_NAME_CHARS + 1, 422)])
def test_a_name_longer_than_a_catalog_takes_is_refused_and_not_kept(
    client: TestClient, length: int, status: int
) -> None:
    answer = client.post("/v1/preflight", json={"message": "hey", "tools": ["x" * length]})
    assert answer.status_code == status, answer.text
    assert put(client, categories={"coding": {"extraTools": ["x" * length]}}).status_code == status


@pytest.mark.parametrize(("count", "status"), [(5_000, 200), (5_001, 422)])
def test_more_tools_than_anyone_has_are_refused(client: TestClient, count: int, status: int) -> None:
    answer = client.post("/v1/preflight", json={"message": "hey", "tools": [f"t{n}" for n in range(count)]})
    assert answer.status_code == status, answer.text
