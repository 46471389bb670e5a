"""The database breaks at any single commit, before or after it: what was asked for has its effect once.

Commits are counted, not sampled: each act is done as often as it commits, and each time another one breaks.
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.artifacts.content import artifact_id_of
from context.priors.state import state_from_bytes
from context.summary.gate import GateSettings
from llm.gateway import Gateway
from llm.scripted import Mode, ScriptedServer, Step
from llm.settings import LlmSettings
from models import database as session
from models.artifacts.settings import planning_settings
from models.conversations.summary import SummaryState
from models.due_work.queue import WorkKind, WorkState, enqueue, find_work
from models.learning.progress import find_counted
from models.ledger.caps import Caps
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.erasing import post_turn, tables_with
from tests.integration.learning import (
    NAME,
    SETTINGS,
    catalog_document,
    put,
    sets,
    shuffled,
    store_plans,
    work_off,
)
from tests.integration.planning import Planning, tools_of
from tests.integration.reading import FACT, Platform, long_report
from tests.integration.store_faults import every_commit, works_off
from tests.integration.summarizing import THRESHOLDS, Room, dialogue
from tests.unit.priors.plans import numbers_of
from tests.unit.tool_plans.catalogs import MULTI_INTENT
from workers.jobs.learn.night import CATALOG
from workers.jobs.lifecycle import run_work
from workers.jobs.summarize import summarize_session
from workers.settings import WorkerSettings

ERASED = {httpx.codes.OK, httpx.codes.NOT_FOUND}
"""What a second erasure answers: it is done now, or it was done unnoticed."""

QUESTION = "Which berth does container MSKU-481516 leave from?"
NOTES = "- Container MSKU-481516 leaves berth 23 at 06:40 on 14 May with 117 crates of valves."
ONE_STEP = {"steps": [{"order": 1, "tool": "memory.remember", "args": {}, "rationale": "r"}], "gap": None}


@pytest.fixture
def model(server: ScriptedServer) -> Iterator[ScriptedServer]:
    """The model, which says what the test wants of it and real notes to the next one."""
    server.reset()
    yield server
    server.script.set_default(Step(Mode.SUMMARY))


@pytest.fixture
def _cheap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A summarizer whose price makes the first readings of an artifact worth their calls."""
    monkeypatch.setenv("AFTERTURN_ARTIFACT_PRICE_SHARE", "0.003")
    planning_settings.cache_clear()
    yield
    planning_settings.cache_clear()


def rows(query: str, **values: Any) -> list[tuple[Any, ...]]:
    with session.read_transaction() as db:
        return [tuple(row) for row in db.execute(text(query), values)]


def state_of(tenant_id: UUID, kind: WorkKind, key: str) -> str | None:
    """The state of a piece of work; None where there is none."""
    with session.read_transaction() as db:
        found = find_work(Scope(db, tenant_id), kind, key)
    return found.state if found else None


def turn(name: str) -> dict[str, Any]:
    return {"turn_id": f"turn-{name}", "messages": dialogue(1)}


def test_a_turn_that_its_client_sends_again_is_stored_once(client: TestClient) -> None:
    for fault in every_commit():
        path = f"/v1/sessions/{fault.name}/turns"
        with fault.strikes():
            first = client.post(path, json=turn(fault.name))
        assert first.status_code == (httpx.codes.SERVICE_UNAVAILABLE if fault.happened else 202)
        assert client.post(path, json=turn(fault.name)).is_success
        stored = rows("select seq from message where session_id = :s order by seq", s=fault.name)
        assert stored == [(1,), (2,)], fault.name


def test_a_batch_that_its_client_sends_again_is_stored_once(client: TestClient) -> None:
    for fault in every_commit():
        lines = [
            {"session_id": f"{fault.name}-{place}", **turn(f"{place}-{number}")}
            for place in "ab"
            for number in (1, 2)
        ]
        body = "\n".join(map(json.dumps, lines))
        with fault.strikes():
            client.post("/v1/turns", content=body)
        results = client.post("/v1/turns", content=body).json()["results"]
        assert [result["last_seq"] for result in results] == [2, 4, 2, 4]
        for place in "ab":
            query = "select turn_index, seq from message where session_id = :s order by seq"
            stored = rows(query, s=f"{fault.name}-{place}")
            assert stored == [(1, 1), (1, 2), (2, 3), (2, 4)], fault.name


def test_a_summary_takes_effect_once(tenant_id: UUID, model: ScriptedServer) -> None:
    """Claim, reservation, settlement and activation: any of them may break."""
    settings = LlmSettings(
        summarizer_model="openai/scripted", llm_api_base=model.base_url, llm_api_key="sk-test"
    )
    gateway = Gateway(settings, Caps())
    for fault in every_commit():
        room = Room(tenant_id, fault.name)
        room.add_turns(5)
        room.want()
        works_off(fault, WorkKind.SUMMARIZE, lambda room=room: summarize(room, gateway, settings))  # type: ignore[misc]
        assert room.states == [SummaryState.ACTIVE], fault.name
        assert room.standing.session.summarized_seq == 8
        assert room.work.state == WorkState.IDLE
    [(noted,)] = rows("select count(*) from llm_call")
    assert noted >= model.count


def summarize(room: Room, gateway: Gateway, settings: LlmSettings) -> str:
    return run_work(
        room.work.work_id,
        {
            WorkKind.SUMMARIZE: lambda held: summarize_session(
                held, complete=gateway.complete, llm=settings, thresholds=THRESHOLDS, gate=GateSettings()
            )
        },
        WorkerSettings(),
    )


def forget_speculation() -> None:
    """Forget which readings were of no use: each fault strikes a tenant without a history."""
    with session.transaction() as db:
        db.execute(text("delete from speculation"))


@pytest.mark.usefixtures("_cheap")
def test_an_artifact_is_read_once(client: TestClient, tenant_id: UUID, model: ScriptedServer) -> None:
    model.script.set_default(Step(Mode.OK, NOTES))
    for fault in every_commit():
        forget_speculation()
        platform = Platform(client, tenant_id, model, fault.name)
        report = long_report(f"{FACT} ({fault.name})")
        platform.turn(QUESTION, report)
        artifact_id = artifact_id_of(report)
        works_off(
            fault,
            WorkKind.ARTIFACT,
            lambda of=platform, key=artifact_id: of.do(WorkKind.ARTIFACT, key),  # type: ignore[misc]
        )
        query = "select origin, state from artifact_summary where artifact_id = :a order by origin"
        assert rows(query, a=artifact_id) == [("general", "ready")], fault.name
        assert state_of(tenant_id, WorkKind.ARTIFACT, artifact_id) in {None, WorkState.IDLE}


def test_a_plan_is_made_once(client: TestClient, tenant_id: UUID, model: ScriptedServer) -> None:
    model.script.set_default(Step(Mode.OK, json.dumps(ONE_STEP)))
    planning = Planning(client, tenant_id, model)
    planning.set_profile(filter_pass=False)
    for fault in every_commit():
        plan_id = planning.ask(MULTI_INTENT)
        works_off(fault, WorkKind.PLAN, lambda plan_id=plan_id: planning.do(plan_id))  # type: ignore[misc]
        plan = planning.plan(plan_id)
        assert (plan.status, tools_of(plan)) == ("ready", ["memory.remember"]), fault.name
        assert state_of(tenant_id, WorkKind.PLAN, str(plan_id)) in {None, WorkState.IDLE}


def test_an_outcome_that_is_reported_again_counts_once(
    client: TestClient, tenant_id: UUID, model: ScriptedServer
) -> None:
    model.script.set_default(Step(Mode.OK, json.dumps(ONE_STEP)))
    planning = Planning(client, tenant_id, model)
    planning.set_profile(filter_pass=False)
    report = {"steps": [{"order": 1, "outcome": "ok"}]}
    for fault in every_commit():
        plan_id = planning.make(MULTI_INTENT).plan_id
        path = f"/v1/plans/{plan_id}/outcome"
        with fault.strikes():
            client.post(path, json=report)
        again = client.post(path, json=report)
        assert again.status_code == httpx.codes.OK, again.text
        assert [step["outcome"] for step in planning.plan(plan_id).steps] == ["ok"], fault.name
    joined = rows("select count(*), count(outcome_seq), count(distinct outcome_seq) from plan_history")
    assert joined == [(3, 3, 3)]


@pytest.mark.parametrize("path", ["/v1/sessions/{}-1", "/v1/users/{}"])
def test_what_is_erased_is_gone_when_its_erasure_was_asked_for_again(client: TestClient, path: str) -> None:
    for fault in every_commit():
        sessions = (1, 2) if "users" in path else (1,)
        for number in sessions:
            post_turn(client, f"{fault.name}-{number}", {**turn(fault.name), "user_id": fault.name})
        with fault.strikes():
            client.delete(path.format(fault.name))
        assert client.delete(path.format(fault.name)).status_code in ERASED
        assert tables_with(fault.name) == {}, fault.name


def test_a_message_is_erased_once(client: TestClient) -> None:
    for fault in every_commit():
        post_turn(client, fault.name, turn(fault.name))
        path = f"/v1/sessions/{fault.name}/messages/2"
        with fault.strikes():
            client.delete(path)
        assert client.delete(path).status_code in ERASED
        assert rows("select seq from message where session_id = :s", s=fault.name) == [(1,)], fault.name
        assert rows("select generation from session where session_id = :s", s=fault.name) == [(2,)]


@pytest.mark.usefixtures("empty_db")
def test_what_plans_taught_is_counted_and_promoted_once() -> None:
    learned: set[str] = set()
    for fault in every_commit():
        with session.transaction() as db:
            tenant_id = ensure_tenant(db, fault.name)
        put(tenant_id, catalog_document())
        store_plans(tenant_id, shuffled())
        with session.transaction() as db:
            enqueue(Scope(db, tenant_id), WorkKind.LEARN, CATALOG + NAME)
        works_off(
            fault,
            WorkKind.LEARN,
            lambda tenant_id=tenant_id: work_off(tenant_id, CATALOG + NAME, SETTINGS),  # type: ignore[misc]
        )
        assert [(one.version, one.state) for one in sets(tenant_id)] == [(1, "active")], fault.name
        learned.add(counted(tenant_id))
    assert len(learned) == 1


def counted(tenant_id: UUID) -> str:
    """All that is counted of a tenant's plans."""
    with session.read_transaction() as db:
        data = find_counted(Scope(db, tenant_id), NAME).state
    assert data is not None
    return repr(numbers_of(state_from_bytes(data)))
