"""An operator changes the summarizer: what the earlier one made is shown as that, and made anew once."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.window.in_force import Known, summarizer
from llm.scripted import Mode, ScriptedServer, Step
from models import session
from models.heartbeat import beat
from models.work import WorkKind
from tests.integration.reading import Platform, long_report
from tests.integration.test_context_plan_job import AGENT, SMALL, newest_artifact, used

QUESTION = "Summarize what the report says of cranes and rain."
FIRST, NEWER = "openai/scripted", "openai/scripted-newer"
NOTES = Step(Mode.OK, "- Container MSKU-481516 waits in the rain; the cranes stand still.")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(default=NOTES) as scripted:
        yield scripted


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Platform:
    server.reset()
    made = Platform(client, tenant_id, server)
    made.turn("Read the report.", long_report())
    return made


def asks(model: str, *, instance: str = "one") -> None:
    """A worker says which model it asks."""
    with session.transaction() as db:
        beat(db, "worker", instance, {"summarizer": model})
    summarizer.forget()


def hows(platform: Platform) -> set[str]:
    answer = platform.ask(QUESTION, **SMALL, **AGENT)
    return {record["how"] for record in used(answer)["artifacts_processed"]}


def wanted() -> int:
    with session.reading() as db:
        return int(
            db.execute(text("select count(*) from artifact_summary where state = 'wanted'")).scalar_one()
        )


def made_by(model: str, platform: Platform, **llm: Any) -> None:
    platform.do(WorkKind.ARTIFACT, newest_artifact(), summarizer_model=model, **llm)


def test_an_earlier_summarizers_notes_are_near_and_made_anew_once(platform: Platform) -> None:
    asks(FIRST)
    hows(platform)
    made_by(FIRST, platform)
    assert hows(platform) == {"exact"}
    assert wanted() == 0
    asks(NEWER)
    assert hows(platform) == {"near"}
    assert wanted() == 1
    assert hows(platform) == {"near"}
    assert wanted() == 1
    made_by(NEWER, platform)
    assert hows(platform) == {"exact"}
    assert wanted() == 0
    asks(FIRST)
    assert hows(platform) == {"exact"}, "what the first one made is there still"
    assert wanted() == 0


def test_what_a_fallback_wrote_answers_for_the_one_in_force(platform: Platform) -> None:
    asks(FIRST)
    hows(platform)
    platform.server.next(Step(Mode.UNAVAILABLE, retry_after_s=None), NOTES)
    made_by(FIRST, platform, llm_fallback_models=("openai/scripted-spare",))
    assert hows(platform) == {"exact"}
    assert wanted() == 0


def test_while_workers_disagree_anybodys_notes_answer(platform: Platform) -> None:
    """A deployment that goes on must not make everything anew twice."""
    asks(FIRST)
    hows(platform)
    made_by(FIRST, platform)
    asks(NEWER, instance="two")
    assert summarizer.find() is None
    assert hows(platform) == {"exact"}
    assert wanted() == 0


def test_a_read_and_a_wish_by_hand_follow_the_one_in_force(platform: Platform) -> None:
    path, words = f"/v1/artifacts/{newest_artifact()}/summaries", {"focus": "cranes and rain"}
    asks(FIRST)
    assert platform.client.put(path, json=words).status_code == 202
    made_by(FIRST, platform)
    assert platform.client.get(path, params=words).json()["match"] == "exact"
    asks(NEWER)
    assert platform.client.get(path, params=words).json()["match"] == "near"
    assert platform.client.put(path, json=words).json()["state"] == "wanted"
    made_by(NEWER, platform)
    assert platform.client.put(path, json=words).json()["state"] == "ready"
    found = platform.client.get(path, params=words).json()
    assert (found["match"], found["model"]) == ("exact", NEWER)


def test_workers_that_were_not_seen_for_a_minute_say_nothing(tenant_id: UUID) -> None:
    del tenant_id
    asks(FIRST)
    assert summarizer.find() == FIRST
    with session.transaction() as db:
        db.execute(text("update heartbeat set seen_at = now() - interval '61 s'"))
    summarizer.forget()
    assert summarizer.find() is None


def test_it_is_read_once_in_a_while(tenant_id: UUID) -> None:
    del tenant_id
    now = [0.0]
    known = Known("summarizer", lambda: now[0])
    asks(FIRST)
    assert known.find() == FIRST
    asks(NEWER)
    assert known.find() == FIRST
    now[0] = 10.0
    assert known.find() == NEWER
