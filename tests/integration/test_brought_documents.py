"""Documents that a request brings as text: a planner is shown them like stored ones, and then no longer."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from llm.scripted import ScriptedServer
from models import database as session
from models.due_work.queue import WorkKind
from tests.integration.reading import PLAIN, Platform, long_report
from tests.integration.sealing import tables_with_traces
from tests.integration.test_context_plan_job import CRANES, SMALL, Agent, leave_out, look_up, plan, used

pytestmark = pytest.mark.usefixtures("no_prompt_cache")


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Platform:
    server.reset()
    made = Agent(client, tenant_id, server)
    made.turn("Read the report.", long_report())
    return made


def planned(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(record["source"], record["planned"]) for record in used(answer)["artifacts_processed"]]


def brought() -> list[str]:
    """The titles of the documents of which something stands with the wish for a plan."""
    titles = "select one ->> 'title' from artifact_plan, jsonb_array_elements(brought) as one order by 1"
    with session.read_transaction() as db:
        return list(db.execute(text(titles)).scalars())


def test_documents_that_stand_in_the_request_alone_are_planned_like_stored_ones(platform: Platform) -> None:
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "welcome"}]
    platform.client.post("/v1/sessions/s2/turns", json={"turn_id": "t1", "messages": said})
    platform.session_id = "s2"
    documents = [
        {"content": long_report(), "title": "north"},
        {"content": long_report("Fog."), "title": "south"},
    ]
    answer = platform.ask(CRANES, attachments=documents, **SMALL)
    assert used(answer)["planning_fallback"] == "not-ready"
    assert brought() == ["north", "south"]
    by_rule = planned(answer)
    made = plan(look_up("A2", "fog"), look_up("A1", "MSKU-481516"))
    assert platform.do(WorkKind.CONTEXT_PLAN, "s2", made) == "ready: 1 of 1"
    seen = str(platform.server.requests[-1].body["messages"])
    for title in ("north", "south"):
        assert f'title="{title}"' in seen
    assert seen.count("attached to this message") == 2
    assert PLAIN[1] in seen
    assert brought() == [], "what was shown to the planner is kept no longer"
    answer = platform.ask(CRANES, attachments=documents, **SMALL)
    assert used(answer)["llm_planning_used"] is True
    assert planned(answer) == [(source, "rag_extract") for source, _ in reversed(by_rule)]


def test_what_a_planner_is_to_be_shown_of_a_document_goes_with_its_session(platform: Platform) -> None:
    platform.ask(CRANES, attachments=[{"content": long_report("Fog."), "title": "south"}], **SMALL)
    assert brought() == ["south"]
    assert platform.client.delete("/v1/sessions/s1").status_code == 200
    assert brought() == []


@pytest.mark.usefixtures("keys")
def test_what_a_planner_is_to_be_shown_of_a_document_is_sealed(platform: Platform) -> None:
    document = {"content": long_report("The zqxmarker."), "title": "zqxmarker"}
    platform.ask(CRANES, attachments=[document], **SMALL)
    assert platform.work(WorkKind.CONTEXT_PLAN, "s1") is not None
    assert tables_with_traces("zqxmarker") == set()
    made = plan(look_up("A1", "fog"), leave_out("A2"))
    assert platform.do(WorkKind.CONTEXT_PLAN, "s1", made) == "ready: 1 of 1"
    assert 'title="zqxmarker"' in str(platform.server.requests[-1].body["messages"])
