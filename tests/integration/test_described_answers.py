"""Real answers have the shapes that the OpenAPI document describes: no field more, none of another type."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.conversations.summary import store_summary
from models.providers.context_limit import Sighting, SightingSource, learn_limit
from models.scope import Scope
from tests.described import answer_models, keys_lost
from tests.integration.erasing import new_summary, talk, tool_turn
from tests.integration.learned import learn_often
from tests.integration.summarizing import Model, Room

SESSION = "/v1/sessions/s1"
TOOL = {"type": "function", "function": {"name": "read_file", "description": "Reads.", "parameters": {}}}
WINDOW: dict[str, Any] = {
    "model": "gpt-4o",
    "context_window": 32_000,
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "What did the log say about the crane?"}],
    "tools": [TOOL],
}
CLAUDE = {**WINDOW, "wire": "anthropic", "model": "claude-sonnet-4-5", "tools": None, "user_id": "anna"}


class Caller:
    """Calls the API, and compares each answer with its description."""

    def __init__(self, client: TestClient) -> None:
        self._client = client
        self._models = answer_models(client.app)  # type: ignore[arg-type]  # the client wraps the very application
        self._seen: set[str] = set()
        self.wrong: dict[str, set[str]] = {}

    def __call__(self, operation_id: str, method: str, path: str, **request: Any) -> Any:
        answer = self._client.request(method, path, **request)
        assert answer.status_code < 300, (operation_id, answer.text)
        self._seen.add(operation_id)
        if lost := keys_lost(self._models[operation_id], answer.json()):
            self.wrong[operation_id] = lost
        return answer.json()

    @property
    def unseen(self) -> set[str]:
        """Operations that were not called."""
        return set(self._models) - self._seen


@pytest.fixture
def call(client: TestClient, tenant_id: UUID, keep_windows: None) -> Caller:  # noqa: ARG001
    """A session with a large result, a summary, a user and a learned limit."""
    caller = Caller(client)
    tools = {"tools": [{"name": "read_file", "description": "Reads a file."}]}
    caller("put_catalog", "PUT", "/v1/catalogs/tools", json=tools)
    learn_often(tenant_id, "tools", {"read a file": "read_file"})
    turn = tool_turn("t1", "crane", user_id="anna", model="gpt-4o")
    for _ in range(2):
        caller("record_turn", "POST", f"{SESSION}/turns", json=turn)
    talk(client, "s1", 6)
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        made = new_summary(8, "Notes [1].", base=None)
        assert store_summary(scope, "s1", made, activate=True)
        learn_limit(scope, Sighting("m-1", "s1", 8_192, SightingSource.ERROR), floor_tokens=8_192)
    return caller


def one(query: str) -> str:
    with session.read_transaction() as db:
        return str(db.execute(text(query)).scalar_one())


def read_everything(call: Caller) -> None:
    """Make every call that changes nothing of the session."""
    call("build_context", "POST", f"{SESSION}/context", json=WINDOW)
    call("build_context", "POST", f"{SESSION}/context", json={**CLAUDE, "recall": {"scope": "user"}})
    call("build_context", "POST", "/v1/sessions/none/context", json={**WINDOW, "tools": None})
    lines = "\n".join(json.dumps({**WINDOW, "session_id": name}) for name in ("s1", ""))
    call("build_contexts", "POST", "/v1/contexts", content=lines)
    document = {"content": "A text of mine. " * 300, "title": "doc", "session_id": "s1"}
    uploaded = call("upload_attachment", "POST", "/v1/attachments", json=document)
    attachment = f"/v1/attachments/{uploaded['attachment_id']}"
    for query in ("", "?content=true"):
        call("get_attachment", "GET", f"{attachment}{query}")
    with_document = {**WINDOW, "attachments": [{"attachment_id": uploaded["attachment_id"]}]}
    call("build_context", "POST", f"{SESSION}/context", json=with_document)
    artifact = one("select min(artifact_id) from artifact_use where artifact_id is not null")
    for query in ("", "?from=0&to=100"):
        call("get_artifact", "GET", f"/v1/artifacts/{artifact}{query}")
    summaries = f"/v1/artifacts/{artifact}/summaries"
    call("request_artifact_summary", "PUT", summaries, json={"focus": "where is it"})
    for operation_id, path in (
        ("get_session", SESSION),
        ("list_summaries", f"{SESSION}/summaries"),
        ("list_artifacts", f"{SESSION}/artifacts"),
        ("list_windows", f"{SESSION}/windows"),
        ("list_work", "/v1/work"),
        ("list_priors", "/v1/catalogs/tools/priors"),
        ("read_turns", f"{SESSION}/turns"),
        ("list_limits", "/v1/limits"),
        ("list_sessions", "/v1/sessions"),
        ("list_users", "/v1/users"),
        ("get_history_limit", "/v1/history-limit"),
        ("get_session_history_limit", f"{SESSION}/history-limit"),
        ("get_shadow_report", "/v1/shadow"),
        ("get_usage", "/v1/usage"),
        ("get_retention", "/v1/retention"),
        ("get_user_recall", "/v1/user-recall"),
        ("get_canary_share", "/v1/canary-share"),
        ("get_preflight_config", "/v1/preflight/config"),
        ("list_past_plans", "/v1/my-plans?user_id=anna"),
        ("list_plans", "/v1/plans?user_id=anna&limit=1"),
        ("list_model_budgets", "/v1/context-budgets?model=gpt-4o"),
        ("list_catalogs", "/v1/catalogs"),
        ("get_catalog", "/v1/catalogs/tools"),
        ("check_alive", "/healthz"),
        ("check_ready", "/readyz"),
        ("get_service", "/"),
    ):
        call(operation_id, "GET", path)
    window = one("select min(window_id::text) from served_window where session_id = 's1'")
    call("get_window", "GET", f"{SESSION}/windows/{window}")
    rank = "/v1/catalogs/tools/rank"
    for explain in (True, False):
        call("rank_tools", "POST", rank, json={"intent": "read a file", "explain": explain})
    call("compact_catalog", "POST", "/v1/catalogs/tools/compact", json={"model": "gpt-4o"})
    call("classify_message", "POST", "/v1/preflight", json={"message": "fix the bug in this function"})


def change_everything(call: Caller) -> None:
    """Make every call that changes something, the destructive ones last."""
    lines = json.dumps({"session_id": "s2", "turn_id": "t1", "messages": WINDOW["messages"]}) + "\n{}\n"
    call("record_turns", "POST", "/v1/turns", content=lines)
    wanted = {"intent": "read a file", "catalog": "tools", "model": "extractive", "session_id": "s1"}
    plan = call("create_plan", "POST", "/v1/plans", json=wanted)
    call("get_plan", "GET", f"/v1/plans/{plan['plan_id']}")
    plan_id = one("select plan_id from plan_history where source = 'turn'")
    call("get_plan", "GET", f"/v1/plans/{plan_id}")
    outcome = {"steps": [{"order": 1, "outcome": "ok"}]}
    call("report_outcome", "POST", f"/v1/plans/{plan_id}/outcome", json=outcome)
    call("compress_context", "POST", f"{SESSION}/compress", json={**WINDOW, "observed_limit": 3_000})
    call("get_session", "GET", SESSION)
    call("activate_summary", "POST", f"{SESSION}/summaries/1/activate")
    call("try_parts", "POST", f"{SESSION}/shadow", json={**WINDOW, "facts": ["hello"]})
    for operation_id, path in (
        ("set_history_limit", "/v1/history-limit"),
        ("set_session_history_limit", f"{SESSION}/history-limit"),
    ):
        call(operation_id, "PUT", path, json={"max_history_tokens": 40_000})
    call("put_preflight_config", "PUT", "/v1/preflight/config", json={"enabled": True})
    call("set_user_recall", "PUT", "/v1/user-recall", json={"enabled": True})
    call("set_canary_share", "PUT", "/v1/canary-share", json={"share": 0.2})
    call("set_retention", "PUT", "/v1/retention", json={"session_days": 0})
    call("forget_limits", "DELETE", "/v1/limits?model=m-1")
    call("fork_session", "POST", f"{SESSION}/fork", json={"session_id": "fork"})
    said = [{"role": "user", "content": "Only this."}, {"role": "assistant", "content": "Well."}]
    call("edit_message", "PATCH", f"{SESSION}/messages/5", json={"message": said[0]})
    call("replace_turn", "PUT", f"{SESSION}/turns/talk-6", json={"messages": said})
    call("append_messages", "POST", f"{SESSION}/turns/new/messages", json={"messages": said, "index": 0})
    call("delete_turn", "DELETE", f"{SESSION}/turns/new")
    call("truncate_session", "POST", f"{SESSION}/truncate", json={"after_turn": "talk-4"})
    for _ in range(2):
        call("erase_message", "DELETE", f"{SESSION}/messages/6")
        call("reset_session", "POST", f"{SESSION}/reset", headers={"Idempotency-Key": "a"})
    call("sync_history", "PUT", "/v1/sessions/s3/messages", json={"messages": said})
    for _ in range(2):
        call("erase_session", "DELETE", "/v1/sessions/s3")
    call("erase_user", "DELETE", "/v1/users/anna")
    made = call("create_key", "POST", "/v1/keys", json={"label": "reports", "scopes": ["read"], "days": 3})
    call("list_keys", "GET", "/v1/keys")
    call("get_key", "GET", "/v1/key")
    call("revoke_key", "DELETE", f"/v1/keys/{made['key_id']}")
    call("roll_back_priors", "POST", "/v1/catalogs/tools/priors/rollback", json={"version": 1})
    canary = "/v1/catalogs/tools/priors/canary"
    call("start_canary", "POST", canary, json={"version": 1, "share": 0.5})
    call("list_priors", "GET", "/v1/catalogs/tools/priors")
    call("stop_canary", "DELETE", canary)
    call("delete_catalog", "DELETE", "/v1/catalogs/tools")


def test_every_answer_has_its_described_shape(call: Caller) -> None:
    read_everything(call)
    change_everything(call)
    assert call.wrong == {}
    assert call.unseen == {"get_artifact_summary", "stream_events"}


def test_a_summary_in_the_making_has_its_described_shape(call: Caller, tenant_id: UUID) -> None:
    assert "activated" in Room(tenant_id, "s1").run(Model())
    call("list_summaries", "GET", f"{SESSION}/summaries")
    call("get_session", "GET", SESSION)
    call("build_context", "POST", f"{SESSION}/context", json=WINDOW)
    assert call.wrong == {}


def test_the_root_leads_a_browser_to_the_description(client: TestClient) -> None:
    led = client.get("/", headers={"Accept": "text/html"}, follow_redirects=False)
    assert (led.status_code, led.headers["location"]) == (307, "/docs")
    assert client.get("/").json()["openapi"] == "/openapi.json"
