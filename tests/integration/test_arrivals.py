"""What arrives within a turn waits for the next one, unless it pays at once."""

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.providers.profiles import ProfileOverride
from context.types import JsonObject
from llm.scripted import Mode, ScriptedServer, Step
from models import database as session
from models.artifacts.use import load_uses
from models.catalogs.model_profile import set_override
from models.conversations.settings import compression_settings
from models.due_work.queue import WorkKind
from models.scope import Scope
from tests.integration.reading import Platform, long_report
from tests.integration.test_context_plan_job import leave_out, look_up, plan
from tests.integration.test_precompute_job import ABOUT, NOTES
from tests.integration.test_speculation import DEAR, ROOM

pytestmark = pytest.mark.usefixtures("one_day")

SHORT, LONG = 1, 150


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Platform:
    """A session with two large results, and the first request of its next turn."""
    server.reset()
    with session.transaction() as db:
        price = ProfileOverride(DEAR, input_usd=Decimal(60), cached_usd=Decimal(6), output_usd=Decimal(90))
        set_override(Scope(db, tenant_id), price)
    made = Platform(client, tenant_id, server)
    made.turn("Read both reports.", long_report(), long_report("Hall nine is full.", lines=390))
    made.ask(ABOUT, **ROOM)
    return made


def step(platform: Platform, lines: int) -> dict[str, Any]:
    """The answer to a further step, whose turn has so many lines of results."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    turn: list[JsonObject] = [
        {"role": "user", "content": ABOUT},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Crate 7 stands at the scale.\n" * lines},
    ]
    answer = platform.ask(messages=turn, **ROOM)
    answer["before"] = json.dumps(answer["messages"][: -len(turn)])
    return answer


def read(platform: Platform) -> None:
    """Let a worker read both results for the turn's question."""
    with session.read_transaction() as db:
        uses = load_uses(Scope(db, platform.tenant_id), "s1", after_seq=0, newest=10)
    for artifact in [use.artifact.artifact_id for use in uses if use.artifact]:
        platform.client.put(f"/v1/artifacts/{artifact}/summaries", json={"focus": ABOUT})
        platform.do(WorkKind.ARTIFACT, artifact, Step(Mode.OK, NOTES))


def ways(answer: dict[str, Any]) -> set[str]:
    return {str(one["how"]) for one in answer["utilization"]["artifacts_processed"]}


def test_a_summary_that_arrives_in_a_long_turn_waits_for_the_next_turn(platform: Platform) -> None:
    first = step(platform, LONG)
    read(platform)
    second = step(platform, LONG + 10)
    assert "exact" not in ways(second)
    assert second["before"] == first["before"]
    platform.turn("And now?")
    assert "exact" in ways(platform.ask(ABOUT, **ROOM))


def test_a_summary_that_pays_at_once_is_shown_and_stays(platform: Platform) -> None:
    assert "exact" not in ways(step(platform, SHORT))
    read(platform)
    shown = step(platform, SHORT)
    assert "exact" in ways(shown)
    later = step(platform, LONG)
    assert later["before"] == shown["before"]


def test_without_a_cache_nothing_waits(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_PROMPT_CACHE_TTL_S", '{"other": 0}')
    compression_settings.cache_clear()
    try:
        assert "exact" not in ways(step(platform, LONG))
        read(platform)
        assert "exact" in ways(step(platform, LONG))
    finally:
        monkeypatch.undo()
        compression_settings.cache_clear()


def test_a_look_alone_begins_no_turn(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> None:
    server.reset()
    platform = Platform(client, tenant_id, server)
    platform.turn("Read both reports.", long_report(), long_report("Hall nine is full.", lines=390))
    platform.ask(ABOUT, dry_run=True, **ROOM)
    read(platform)
    assert "exact" in ways(step(platform, LONG))


def test_a_plan_that_arrives_in_a_long_turn_waits_and_the_answer_says_so(platform: Platform) -> None:
    with session.transaction() as db:
        db.execute(
            text(
                "insert into speculation (tenant_id, day, purpose, origin, kind, made, used, saved_tokens) "
                "values (:tenant_id, (now() at time zone 'UTC')::date, 'plan', 'request', '', 10, 20, 200000)"
            ),
            {"tenant_id": platform.tenant_id},
        )
    assert step(platform, SHORT)["utilization"]["planning_fallback"] == "not-ready"
    platform.do(WorkKind.CONTEXT_PLAN, "s1", plan(look_up("A1", "berth"), leave_out("A2")))
    waiting = step(platform, LONG)["utilization"]
    assert waiting["planning_fallback"] == "next-turn"
    assert not waiting["llm_planning_used"]
