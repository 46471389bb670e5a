"""An operator changes the summarizer: what the earlier one made is shown as that, and made anew once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.context.artifact_summaries import KnownWorkers, forget, prompt, summarizer
from context.focus import normalise
from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from llm.scripted import Mode, ScriptedServer, Step
from models import database as session
from models.artifacts.settings import planning_settings
from models.artifacts.summary_cache import want_anew
from models.artifacts.summary_lookup import Maker
from models.due_work.heartbeat import ARTIFACT_PROMPT, beat
from models.due_work.queue import WorkKind
from models.scope import Scope
from tests.integration.artifacts import find_exact
from tests.integration.reading import Platform, long_report
from tests.integration.test_context_plan_job import AGENT, SMALL, further_step, newest_artifact, used
from tests.waiting import wait_until

WHOLE = "Summarize the report."
QUESTION = "Summarize what the report says of cranes and rain."
FIRST, NEWER = "openai/scripted", "openai/scripted-newer"
NOTES = Step(Mode.OK, "- Container MSKU-481516 waits in the rain; the cranes stand still.")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(default=NOTES) as scripted:
        yield scripted


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A summarizer whose price makes a summary worth its call wherever a step misses one."""
    monkeypatch.setenv("AFTERTURN_ARTIFACT_PRICE_SHARE", "0.003")
    planning_settings.cache_clear()
    yield
    planning_settings.cache_clear()


@pytest.fixture
def platform(client: TestClient, tenant_id: UUID, server: ScriptedServer) -> Platform:
    server.reset()
    made = Platform(client, tenant_id, server)
    made.turn("Read the report.", long_report())
    return made


def asks(model: str, *, instance: str = "one", by: str = ARTIFACT_PROMPT_VERSION) -> None:
    """A worker says which model it asks, and by which version of the prompt; empty for one that does not."""
    said = {ARTIFACT_PROMPT: by} if by else {}
    with session.transaction() as db:
        beat(db, "worker", instance, {"summarizer": model, **said})
    forget()


def hows(platform: Platform, question: str = QUESTION) -> set[str]:
    return {record["how"] for record in shown_within(platform, question)}


def shown_within(platform: Platform, question: str = QUESTION) -> list[dict[str, Any]]:
    """What a step of a turn that goes on is shown: what it misses is asked for."""
    return shown(platform, question, **AGENT, **further_step(question))


def shown(platform: Platform, question: str = QUESTION, **fields: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = used(platform.ask(question, **SMALL, **fields))["artifacts_processed"]
    return found


def askers() -> list[tuple[str, str | None]]:
    """In which words, and for which session, a summary is waited for."""
    asked = text("select focus, session_id from artifact_summary where state = 'wanted'")
    with session.read_transaction() as db:
        return [(row.focus, row.session_id) for row in db.execute(asked)]


def came_from(prompt_version: str) -> None:
    """What was made so far was asked by another version of the prompt."""
    with session.transaction() as db:
        db.execute(
            text("update artifact_summary set prompt_version = :was where state = 'ready'"),
            {"was": prompt_version},
        )


def wanted() -> int:
    with session.read_transaction() as db:
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


def test_what_an_earlier_prompt_gave_is_shown_as_that_and_made_anew_once(platform: Platform) -> None:
    asks(FIRST)
    hows(platform)
    made_by(FIRST, platform)
    came_from("artifact-0")
    for _ in range(2):
        (record,) = shown_within(platform)
        assert (record["how"], record["similarity"], record["other_summarizer"]) == ("near", 1.0, True)
        assert wanted() == 1
    made_by(FIRST, platform)
    (record,) = shown_within(platform)
    assert (record["how"], record["other_summarizer"]) == ("exact", False)
    assert wanted() == 0


def test_a_worker_that_does_not_say_its_prompt_leaves_it_open(platform: Platform) -> None:
    """An older release still makes summaries by its own prompt: neither is asked for again and again."""
    asks(FIRST)
    hows(platform)
    made_by(FIRST, platform)
    came_from("artifact-0")
    asks(FIRST, instance="older", by="")
    assert prompt.find() is None
    assert hows(platform) == {"exact"}
    assert wanted() == 0


def test_what_is_asked_of_the_whole_is_answered_by_an_earlier_summarizer_too(platform: Platform) -> None:
    asks(FIRST)
    hows(platform, WHOLE)
    made_by(FIRST, platform)
    assert hows(platform, WHOLE) == {"exact"}
    asks(NEWER)
    assert hows(platform, WHOLE) == {"near"}
    assert wanted() == 1


def test_a_talk_without_tools_has_outdated_notes_made_anew_too(platform: Platform) -> None:
    asks(FIRST)
    hows(platform)
    made_by(FIRST, platform)
    asks(NEWER)
    (record,) = shown(platform)
    assert (record["how"], record["other_summarizer"]) == ("near", True)
    assert wanted() == 1
    made_by(NEWER, platform)
    assert [one["how"] for one in shown(platform)] == ["exact"]


def test_of_two_notes_for_a_near_focus_those_of_the_one_in_force_are_shown(platform: Platform) -> None:
    path = f"/v1/artifacts/{newest_artifact()}/summaries"
    for model in (NEWER, FIRST):
        asks(model)
        platform.client.put(path, json={"focus": "cranes and rain"})
        made_by(model, platform)
        assert platform.client.get(path, params={"focus": "cranes and rain"}).json()["model"] == model
    for model in (NEWER, FIRST):
        asks(model)
        found = platform.client.get(path, params={"focus": "rain and cranes"}).json()
        assert (found["match"], found["model"], found["other_summarizer"]) == ("near", model, False)


def test_a_read_of_outdated_notes_has_them_made_anew_for_whoever_asked(platform: Platform) -> None:
    path, words = f"/v1/artifacts/{newest_artifact()}/summaries", {"focus": "cranes and rain"}
    asks(FIRST)
    platform.client.put(path, json={**words, "session_id": platform.session_id})
    made_by(FIRST, platform)
    asks(NEWER)
    for _ in range(2):
        found = platform.client.get(path, params={"focus": "the cranes and the rain"}).json()
        assert (found["match"], found["other_summarizer"]) == ("near", True)
        assert askers() == [("cranes and rain", platform.session_id)]
    made_by(NEWER, platform)
    assert platform.client.get(path, params=words).json()["match"] == "exact"
    assert askers() == []


@pytest.mark.parametrize(
    ("owner", "again"), [({}, True), ({"session_id": "not-begun"}, False), ({"user_id": "u1"}, False)]
)
def test_words_that_cannot_be_held_are_not_asked_again_by_a_read(
    platform: Platform, owner: dict[str, str], again: bool
) -> None:
    path, words = f"/v1/artifacts/{newest_artifact()}/summaries", {"focus": "cranes and rain"}
    asks(FIRST)
    platform.client.put(path, json={**words, **owner})
    made_by(FIRST, platform)
    asks(NEWER)
    assert platform.client.get(path, params=words).json()["other_summarizer"] is True
    assert bool(wanted()) is again


def test_an_erasure_waits_for_the_copy_of_a_question_and_takes_it_along(platform: Platform) -> None:
    """The session has none of the artifact: to hold that alone would not do."""
    artifact_id, words = newest_artifact(), {"focus": "cranes and rain", "session_id": "s2"}
    Platform(platform.client, platform.tenant_id, platform.server, "s2").turn("Hello.")
    asks(FIRST)
    platform.client.put(f"/v1/artifacts/{artifact_id}/summaries", json=words)
    made_by(FIRST, platform)
    focus = normalise("cranes and rain")
    with ThreadPoolExecutor(1) as pool:
        with session.transaction() as db:
            found = find_exact(db, platform.tenant_id, [artifact_id], focus.key)[artifact_id]
            assert want_anew(Scope(db, platform.tenant_id), found, Maker(NEWER), ttl_s=60)
            erased = pool.submit(platform.client.delete, "/v1/sessions/s2")
            wait_until(is_held_up, within_s=30, what="the erasure waits")
        assert erased.result(timeout=60).status_code == 200
    assert askers() == []


def is_held_up() -> bool:
    """Whether somebody waits for a lock."""
    with session.read_transaction() as db:
        return db.execute(text("select 1 from pg_locks where not granted limit 1")).first() is not None


def test_a_rejected_wish_of_an_earlier_prompt_is_asked_anew(platform: Platform) -> None:
    path, words = f"/v1/artifacts/{newest_artifact()}/summaries", {"focus": "cranes and rain"}
    asks(FIRST)
    platform.client.put(path, json=words)
    platform.server.next(Step(Mode.REFUSAL))
    made_by(FIRST, platform)
    assert platform.client.put(path, json=words).json()["state"] == "rejected"
    asks(FIRST, by="artifact-of-tomorrow")
    assert platform.client.put(path, json=words).json()["state"] == "wanted"


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
    outdated = platform.client.get(path, params=words).json()
    assert (outdated["match"], outdated["similarity"], outdated["other_summarizer"]) == ("near", 1.0, True)
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
    known = KnownWorkers("summarizer", lambda: now[0])
    asks(FIRST)
    assert known.find() == FIRST
    asks(NEWER)
    assert known.find() == FIRST
    now[0] = 10.0
    assert known.find() == NEWER
