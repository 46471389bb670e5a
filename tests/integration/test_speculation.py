"""What is made ahead of use is counted, pays for itself, and stops where nobody uses it."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.context import artifact_summaries as in_force
from context.providers.profiles import ProfileOverride
from llm.scripted import Mode, ScriptedServer, Step
from models import database as session
from models.catalogs.model_profile import set_override
from models.due_work.heartbeat import beat
from models.due_work.queue import WorkKind
from models.scope import Scope
from tests.integration.reading import Platform, long_report
from tests.integration.test_context_plan_job import further_step, leave_out, look_up, plan
from tests.integration.test_precompute_job import ABOUT, BERTH, NOTES, newest_artifact

pytestmark = pytest.mark.usefixtures("one_day")

DEAR = "dear-model"
ROOM: dict[str, Any] = {"model": DEAR, "context_window": 9_000, "max_tokens": 300}
PRICES = {"openai/scripted": {"input": "1", "output": "2"}}


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Platform:
    """A session with two large results, before a model that is sixty times as dear as its summarizer."""
    server.reset()
    made = Platform(client, tenant_id, server)
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        set_override(scope, ProfileOverride(DEAR, input_usd=Decimal(60), output_usd=Decimal(90)))
        set_override(
            scope,
            ProfileOverride("openai/scripted", input_usd=Decimal(1), output_usd=Decimal(2)),
        )
        beat(db, "worker", "here:1", {"summarizer": "openai/scripted", "planner": "openai/scripted"})
    in_force.forget()
    made.turn("Read both reports.", long_report(), long_report("Hall nine is full.", lines=390))
    return made


def step(platform: Platform) -> dict[str, Any]:
    """The answer to a step of an agent that goes on with its question."""
    return platform.ask(**{**ROOM, **further_step(ABOUT)})


def wished() -> list[str]:
    with session.read_transaction() as db:
        return list(db.execute(text("select origin from artifact_summary")).scalars())


def made_ahead(platform: Platform) -> dict[str, dict[str, int]]:
    found = platform.client.get("/v1/usage").json()["made_ahead"]
    return {one.pop("purpose"): one for one in found}


def stands(platform: Platform, **counts: int) -> None:
    """Let counts of today say what became of readings so far."""
    names, values = ", ".join(counts), ", ".join(map(str, counts.values()))
    with session.transaction() as db:
        db.execute(
            text(
                f"insert into speculation (tenant_id, day, purpose, origin, kind, {names}) values "  # noqa: S608
                f"(:tenant_id, (now() at time zone 'UTC')::date, 'reading', 'request', 'text', {values})"
            ),
            {"tenant_id": platform.tenant_id},
        )


def test_what_an_agent_will_probably_ask_again_is_read_and_its_use_is_counted(platform: Platform) -> None:
    step(platform)
    assert set(wished()) == {"request"}
    with session.read_transaction() as db:
        artifacts = list(db.execute(text("select distinct artifact_id from artifact_summary")).scalars())
    for artifact in artifacts:
        platform.do(WorkKind.ARTIFACT, artifact, Step(Mode.OK, NOTES), llm_prices=PRICES)
    reading = made_ahead(platform)["reading"]
    assert (reading["made"], reading["used"]) == (len(artifacts), 0)
    assert reading["spent_tokens"] > 0
    assert reading["saved_tokens"] == 0
    for record in step(platform)["utilization"]["artifacts_processed"]:
        assert record["artifact_id"] not in artifacts or record["how"] in {"exact", "extract"}
    reading = made_ahead(platform)["reading"]
    assert reading["used"] >= 1
    assert reading["saved_tokens"] > 0


def test_what_nobody_will_probably_ask_is_not_read(platform: Platform) -> None:
    assert platform.do(WorkKind.ARTIFACT, newest_artifact()) == "ready: 0 of 0"
    assert platform.server.requests == []
    assert made_ahead(platform) == {}


@pytest.mark.parametrize(
    ("counts", "is_read"),
    [
        ({"made": 49, "used": 49, "unused": 49, "saved_tokens": 40_000}, True),
        ({"made": 50, "used": 50, "unused": 50, "saved_tokens": 40_000}, False),
        ({"made": 100, "used": 1}, False),
        ({"made": 100, "used": 200, "spent_tokens": 5_000_000, "saved_tokens": 200}, False),
        ({"made": 100, "used": 200, "spent_tokens": 5_000_000, "saved_tokens": 5_000_000}, True),
    ],
    ids=["used", "never used lately", "hardly used", "over the ceiling", "below the ceiling"],
)
def test_a_tenants_own_counts_decide(platform: Platform, counts: dict[str, int], is_read: bool) -> None:
    stands(platform, **counts)
    step(platform)
    assert bool(wished()) is is_read


def test_a_use_ends_the_row_of_readings_without_one(platform: Platform) -> None:
    step(platform)
    with session.read_transaction() as db:
        artifacts = list(db.execute(text("select distinct artifact_id from artifact_summary")).scalars())
    for artifact in artifacts:
        platform.do(WorkKind.ARTIFACT, artifact, Step(Mode.OK, NOTES))
    step(platform)
    with session.read_transaction() as db:
        assert db.execute(text("select sum(unused) from speculation")).scalar() == 0


def test_a_plan_that_an_agents_step_follows_is_counted(platform: Platform) -> None:
    step(platform)
    platform.do(WorkKind.CONTEXT_PLAN, "s1", plan(look_up("A1", "berth"), leave_out("A2")))
    assert step(platform)["utilization"]["llm_planning_used"] is True
    found = made_ahead(platform)["plan"]
    assert (found["made"], found["used"]) == (1, 1)
    assert found["spent_tokens"] > 0


def test_an_unused_plan_is_asked_for_no_more_and_who_waits_gets_one(platform: Platform) -> None:
    with session.transaction() as db:
        db.execute(
            text(
                "insert into speculation (tenant_id, day, purpose, origin, kind, made, unused) "
                "values (:tenant_id, (now() at time zone 'UTC')::date, 'plan', 'request', '', 60, 60)"
            ),
            {"tenant_id": platform.tenant_id},
        )
    assert step(platform)["utilization"]["planning_fallback"] == "not-asked"
    assert platform.work(WorkKind.CONTEXT_PLAN, "s1") is None
    platform.ask(BERTH, wait_ms=1, **ROOM)
    assert platform.work(WorkKind.CONTEXT_PLAN, "s1") is not None


def test_a_look_up_that_a_model_plans_is_not_read_for(platform: Platform) -> None:
    answer = platform.ask(**{**ROOM, **further_step(BERTH)})
    assert answer["utilization"]["planning_fallback"] == "not-ready"
    assert {record["planned"] for record in answer["utilization"]["artifacts_processed"]} >= {"rag_extract"}
    assert wished() == []


def test_an_answer_read_by_hand_is_no_guess(platform: Platform) -> None:
    artifact = newest_artifact()
    platform.client.put(f"/v1/artifacts/{artifact}/summaries", json={"focus": BERTH})
    platform.do(WorkKind.ARTIFACT, artifact, Step(Mode.OK, NOTES))
    assert made_ahead(platform) == {}
