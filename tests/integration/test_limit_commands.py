"""`afterturn limits`: an operator sees, sets and forgets the windows of models."""

import json
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from models import database as session
from models.providers.context_limit import Sighting, SightingSource, find_limit, learn_limit
from models.scope import Scope

MODEL = "gpt-4o"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["limits", *arguments, "--tenant", "first"], env={"COLUMNS": "200"})


@pytest.fixture(autouse=True)
def seen(tenant_id: UUID) -> None:
    with session.transaction() as db:
        sighting = Sighting(MODEL, "s1", 8_192, SightingSource.OBSERVED)
        learn_limit(Scope(db, tenant_id), sighting, floor_tokens=64_000)


def in_force(tenant_id: UUID, session_id: str) -> int | None:
    with session.read_transaction() as db:
        return find_limit(Scope(db, tenant_id), MODEL, session_id)


def test_limits_are_listed_as_a_table_and_as_json() -> None:
    table = run("list")
    assert table.exit_code == 0, table.output
    assert all(word in table.stdout for word in (MODEL, "8,192", "observed", "s1"))
    (row,) = json.loads(run("list", "--json").stdout)
    assert (row["model"], row["limit_tokens"], row["session_id"]) == (MODEL, 8_192, "s1")
    assert "no limits" in run("list", "other").stdout


def test_an_operator_sets_a_limit_for_all_sessions_and_forgets_it(tenant_id: UUID) -> None:
    assert run("set", MODEL, "4000").exit_code == 0
    assert (in_force(tenant_id, "s1"), in_force(tenant_id, "s2")) == (4_000, 4_000)
    assert run("forget", "--session", "s1").stdout == "forgotten: 1\n"
    assert run("forget", f"openai/{MODEL}").stdout == "forgotten: 1\n"
    assert in_force(tenant_id, "s1") is None


def test_an_operator_limits_history_for_a_tenant_and_for_a_session(client: TestClient) -> None:
    assert "none" in run("history").stdout
    assert "4,000 tokens, set for the tenant" in run("history", "4000").stdout
    turn = {"turn_id": "t1", "messages": [{"role": "user", "content": "hello"}]}
    assert client.post("/v1/sessions/s1/turns", json=turn).status_code == 202
    assert "9,000 tokens, set for the session" in run("history", "9000", "--session", "s1").stdout
    assert client.get("/v1/sessions/s1").json()["history_limit"] == {"tokens": 9_000, "source": "session"}
    assert "4,000 tokens, set for the tenant" in run("history", "--none", "--session", "s1").stdout
    assert run("history", "--session", "nobody").exit_code == 2
    assert run("history", "999").exit_code == 2
    assert run("history", "4000", "--none").exit_code == 2
    assert "none" in run("history", "--none").stdout


@pytest.mark.parametrize("named", [["nosuch"], ["--session", "nosuch"], ["nosuch", "--session", "s1"]])
def test_what_is_not_known_cannot_be_forgotten(tenant_id: UUID, named: list[str]) -> None:
    told = run("forget", *named)
    assert told.exit_code == 1
    assert "nosuch" in told.stderr
    assert "afterturn limits list" in told.stderr
    assert in_force(tenant_id, "s1") == 8_192


def test_forgetting_needs_to_be_told_of_what(tenant_id: UUID) -> None:
    assert run("forget").exit_code == 2
    assert in_force(tenant_id, "s1") == 8_192
    assert run("forget", "--all").stdout == "forgotten: 1\n"
