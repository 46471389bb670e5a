"""A plan of context that failed is asked for again: after a while, by who waits, of another model."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.context import artifact_summaries as in_force
from llm.scripted import Mode, ScriptedServer, Step
from models import database as session
from models.artifacts.plan import AGAIN_AFTER_S
from models.due_work.heartbeat import beat
from models.due_work.queue import WorkKind
from tests.integration.reading import Platform, long_report
from tests.integration.test_context_plan_job import CRANES, SMALL, Agent, leave_out, look_up, plan

pytestmark = pytest.mark.usefixtures("one_day", "no_prompt_cache")

PLANNER = "openai/scripted"


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Platform:
    """A session whose plan failed: the planner refused once."""
    server.reset()
    made = Agent(client, tenant_id, server)
    made.turn("Read both reports.", long_report(), long_report("The night shift paints the crane blue."))
    made.ask(CRANES, **SMALL)
    made.do(WorkKind.CONTEXT_PLAN, "s1", Step(Mode.REFUSAL))
    return made


def fallback(platform: Platform, **fields: Any) -> str:
    found: str = platform.ask(CRANES, **SMALL, **fields)["utilization"]["planning_fallback"]
    return found


def plans_now(model: str) -> None:
    """Let a worker say that it plans with this model."""
    with session.transaction() as db:
        beat(db, "worker", "here:1", {"summarizer": "openai/notes", "planner": model})
    in_force.forget()


def states() -> list[str]:
    with session.read_transaction() as db:
        return list(db.execute(text("select state from artifact_plan")).scalars())


def test_a_plan_that_failed_a_moment_ago_is_not_asked_for(platform: Platform) -> None:
    plans_now(PLANNER)
    assert fallback(platform) == "failed: safety"
    assert states() == ["failed"]


@pytest.mark.parametrize(("seconds", "found"), [(-5, "failed: safety"), (5, "not-ready")])
def test_a_failure_expires(platform: Platform, seconds: float, found: str) -> None:
    with session.transaction() as db:
        db.execute(
            text("update artifact_plan set ready_at = now() - :s * interval '1 s'"),
            {"s": AGAIN_AFTER_S + seconds},
        )
    assert fallback(platform) == found


def test_a_caller_that_waits_asks_again(platform: Platform) -> None:
    assert fallback(platform, wait_ms=20) == "not-ready"
    platform.do(WorkKind.CONTEXT_PLAN, "s1", plan(look_up("A1", "crane"), leave_out("A2")))
    assert platform.ask(CRANES, **SMALL)["utilization"]["llm_planning_used"] is True


def test_another_planner_is_asked(platform: Platform) -> None:
    plans_now("openai/another")
    assert fallback(platform) == "not-ready"
    assert states() == ["wanted"]
    platform.do(WorkKind.CONTEXT_PLAN, "s1", plan(look_up("A1", "crane"), leave_out("A2")))
    assert platform.ask(CRANES, **SMALL)["utilization"]["llm_planning_used"] is True


def test_a_plan_that_failed_for_want_of_a_planner_is_made_once_there_is_one(
    client: TestClient, tenant_id: UUID, server: ScriptedServer
) -> None:
    platform = Agent(client, tenant_id, server)
    platform.turn("Read both reports.", long_report(), long_report("The night shift paints the crane blue."))
    plans_now("extractive")
    platform.ask(CRANES, **SMALL)
    platform.do(WorkKind.CONTEXT_PLAN, "s1", context_planner_model="extractive")
    assert fallback(platform).startswith("failed: no-planner")
    plans_now(PLANNER)
    assert fallback(platform) == "not-ready"


def test_a_look_at_an_answer_asks_for_nothing(platform: Platform) -> None:
    plans_now("openai/another")
    assert fallback(platform, dry_run=True) == "failed: safety"
    assert states() == ["failed"]


def test_the_models_in_force_may_be_named_and_change_nothing(platform: Platform) -> None:
    plans_now(PLANNER)
    assert fallback(platform, planner_model=PLANNER, summarizer_model="openai/notes") == "failed: safety"
    assert states() == ["failed"]


def test_a_refused_model_is_told_what_is_allowed(platform: Platform) -> None:
    plans_now(PLANNER)
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": CRANES}], "planner_model": "gpt-9"}
    answer = platform.client.post("/v1/sessions/s1/context", json={**body, **SMALL})
    assert answer.status_code == 422
    assert answer.json()["allowed"] == [PLANNER]
    assert answer.json()["detail"].endswith(f"allowed: {PLANNER}")
