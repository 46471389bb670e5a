"""The record of decisions: what it holds, what it never holds, how it is joined, replayed and deleted."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, text
from typer.testing import CliRunner

from afterturn.preflight import app as command
from context.preflight.config import KNOWN_TOOLS, read_config
from context.preflight.replay import ReplayVerdict, replay
from models import database as session
from models.preflight.decision import (
    MOST_NAMES,
    forget_old_decisions,
    join_decisions,
    load_decisions,
)
from models.preflight.settings import preflight_settings
from models.scope import Scope
from tests.integration.test_preflight import SESSION, TOOLS, ask, fresh_policies, rows, say

__all__ = ["fresh_policies"]


def decisions() -> list[Any]:
    return rows("select * from preflight_decision order by decision_id")


def test_a_decision_is_recorded_with_its_numbers_and_no_word_of_the_message(client: TestClient) -> None:
    ask(client, "what is the weather in Xanadu?", session_id=SESSION, tools=TOOLS)
    (row,) = decisions()
    assert row.categories == ["research"]
    assert (row.session_id, row.turn_index, row.policy_version) == (SESSION, 1, 0)
    assert sorted([*row.kept, *row.hidden]) == sorted(TOOLS)
    assert row.features["ask.what"] >= 1
    assert row.used is None
    assert "xanadu" not in str(tuple(row)).lower()
    assert "weather" not in str(tuple(row)).lower()


def test_of_many_tools_a_decision_names_few_and_counts_the_others(client: TestClient) -> None:
    tools = [f"own_{number}" for number in range(1_000)]
    ask(client, "what is the weather in Xanadu?", session_id=SESSION, tools=[*tools, *TOOLS])
    (row,) = decisions()
    named = {*row.kept, *row.hidden, *row.pinned}
    assert len(named) == MOST_NAMES
    assert named >= set(TOOLS) & KNOWN_TOOLS
    assert f"record.names_left_out.{len(tools) + len(TOOLS) - MOST_NAMES}" in row.reasons


def test_decisions_are_sampled(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_PREFLIGHT_RECORD_SHARE", "0")
    preflight_settings.cache_clear()
    ask(client, "what is the weather?", session_id=SESSION)
    assert decisions() == []


def test_a_decision_is_joined_to_the_tools_that_its_turn_called(client: TestClient, tenant_id: UUID) -> None:
    ask(client, "what is the weather?", session_id=SESSION, tools=TOOLS)
    ask(client, "nobody follows this", session_id="s2", tools=TOOLS)
    say(client, "what is the weather?", "t1", "web_search", "web_fetch", "web_search")
    say(client, "and now?", "t2", "exec")
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        assert join_decisions(scope) == 1
        assert join_decisions(scope) == 0
    joined, waiting = decisions()
    assert joined.used == ["web_search", "web_fetch"]
    assert waiting.used is None


def test_a_replay_names_the_calls_that_another_policy_would_have_blocked(
    client: TestClient, tenant_id: UUID
) -> None:
    for place in range(3):
        here = f"s{place}"
        ask(client, "what is the weather?", session_id=here, tools=TOOLS)
        say(client, "what is the weather?", "t1", "web_search", session_id=here)
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        join_decisions(scope)
        same = replay(load_decisions(scope), read_config({}))
        without = {"categories": {"research": {"disabled": True}}, "fallbackToFull": False}
        other = replay(load_decisions(scope), read_config(without))
    assert (same.decisions, same.with_calls, same.harmed, same.verdict) == (3, 3, 0, ReplayVerdict.SAFE)
    assert same.hidden_then == same.hidden_now > 0
    assert other.blocked == {("none", "web_search"): 3}
    assert other.verdict is ReplayVerdict.HARMFUL


def test_the_command_prints_the_verdict_and_fails_where_a_policy_harms(
    client: TestClient, tmp_path: Path
) -> None:
    ask(client, "what is the weather?", session_id=SESSION, tools=TOOLS)
    say(client, "what is the weather?", "t1", "web_search")
    runner = CliRunner()
    where = ["replay", "--tenant", "first", "--data-dir", str(tmp_path)]
    good = runner.invoke(command, where)
    assert good.exit_code == 0, good.output
    assert "verdict: safe" in good.output
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"categories": {"research": {"disabled": True}}, "fallbackToFull": False}))
    bad = runner.invoke(command, [*where, "--policy", str(policy)])
    assert bad.exit_code == 3, bad.output
    assert "web_search" in bad.output
    assert "turns harmed 1 of 1" in bad.output
    policy.write_text('{"enable": true}')
    wrong = runner.invoke(command, [*where, "--policy", str(policy)])
    assert wrong.exit_code == 2
    assert "enable" in wrong.output


def test_decisions_go_with_their_session(client: TestClient) -> None:
    for _ in range(2):
        ask(client, "what is the weather?", session_id=SESSION, tools=TOOLS)
    ask(client, "what is the weather?", session_id="s2", tools=TOOLS)
    say(client, "what is the weather?", "t1")
    with session.transaction() as db:
        db.execute(text("delete from session where session_id = :session_id"), {"session_id": SESSION})
    assert [row.session_id for row in decisions()] == ["s2"]
    assert rows("select * from preflight_session") == []


def test_old_decisions_are_forgotten(client: TestClient) -> None:
    ask(client, "what is the weather?")
    with session.transaction() as db:
        assert forget_old_decisions(db, keep=timedelta(days=1)) == 0
        db.execute(text("update preflight_decision set decided_at = now() - interval '2 days'"))
        assert forget_old_decisions(db, keep=timedelta(days=1)) == 1


def test_the_topic_is_found_by_the_keys_alone(db: Connection) -> None:
    """At any size: one row by its primary key, from each of two tables."""
    plan = db.execute(
        text(
            "explain (format json) select 1 from session s left join preflight_session p "
            "using (tenant_id, session_id) where s.tenant_id = '00000000-0000-0000-0000-000000000000' "
            "and s.session_id = 'x'"
        )
    ).scalar_one()
    assert "Seq Scan" not in json.dumps(plan)
