"""Unsure messages, looked at again by a model after their turn."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from llm.failures import Cause, LlmFailure
from llm.requests import CompletionReply, CompletionRequest
from llm.settings import LlmSettings
from models import database as session
from models.due_work.queue import DueWork, WorkKind, WorkState, find_work
from models.preflight.settings import preflight_settings
from models.scope import Scope
from tests.integration.summarizing import Model
from tests.integration.test_preflight import SESSION, TOOLS, ask, fresh_policies, rows, say
from workers.jobs.lifecycle import run_work
from workers.jobs.preflight_labels import Complete, relabel_session
from workers.settings import WorkerSettings

__all__ = ["fresh_policies"]

UNCLEAR = "deal with that thing behind the greenhouse"
ANSWER = '{"categories": ["coding"]}'


@pytest.fixture(autouse=True)
def relabelling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Switched on, and due at once."""
    monkeypatch.setenv("AFTERTURN_PREFLIGHT_RELABEL", "true")
    monkeypatch.setenv("AFTERTURN_PREFLIGHT_RELABEL_DELAY_S", "0")
    preflight_settings.cache_clear()
    yield
    preflight_settings.cache_clear()


def work_of(tenant_id: UUID) -> DueWork | None:
    with session.read_transaction() as db:
        return find_work(Scope(db, tenant_id), WorkKind.RELABEL, SESSION)


def work(tenant_id: UUID, model: Complete, **settings: Any) -> str:
    due = work_of(tenant_id)
    assert due is not None
    llm = LlmSettings(**{"context_planner_model": "some-model", **settings})
    return run_work(
        due.work_id,
        {WorkKind.RELABEL: lambda held: relabel_session(held, complete=model, llm=llm)},
        WorkerSettings(backoff_s=60),
    )


def test_what_a_model_names_is_what_the_next_message_goes_on_with(
    client: TestClient, tenant_id: UUID
) -> None:
    assert ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)["categories"] == []
    say(client, UNCLEAR, "t1")
    model = Model(ANSWER)
    assert work(tenant_id, model) == "labelled: coding"
    assert UNCLEAR in model.prompts[0]
    answer = ask(client, "yes, go", session_id=SESSION, tools=TOOLS)
    assert answer["inherited"] is True
    assert answer["categories"] == ["coding"]
    assert [
        row.relabelled for row in rows("select * from preflight_decision where relabelled is not null")
    ] == [["coding"]]


def test_a_newer_message_keeps_what_it_said_itself(client: TestClient, tenant_id: UUID) -> None:
    say(client, "hello", "t1")
    ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)
    say(client, UNCLEAR, "t2")
    ask(client, "draw a picture of a cat", session_id=SESSION, tools=TOOLS)
    assert work(tenant_id, Model(ANSWER)) == "labelled: coding"
    answer = ask(client, "yes, go", session_id=SESSION, tools=TOOLS)
    assert answer["categories"] == ["media"]


def test_a_message_without_its_turn_is_waited_for(client: TestClient, tenant_id: UUID) -> None:
    ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)
    model = Model()
    assert work(tenant_id, model) == "the turn has not come"
    assert model.asked == []
    due = work_of(tenant_id)
    assert due is not None
    assert due.state == WorkState.READY


def test_what_was_erased_while_the_model_thought_leaves_nothing(client: TestClient, tenant_id: UUID) -> None:
    ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)
    say(client, UNCLEAR, "t1")

    def answer_too_late(request: CompletionRequest) -> CompletionReply:
        with session.transaction() as db:
            db.execute(text("delete from preflight_decision"))
        return Model(ANSWER)(request)

    work(tenant_id, answer_too_late)
    assert rows("select * from preflight_session") == []


@pytest.mark.parametrize("reply", ["no idea", '{"categories": []}'])
def test_an_answer_without_a_label_changes_nothing_and_is_not_asked_for_again(
    client: TestClient, tenant_id: UUID, reply: str
) -> None:
    ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)
    say(client, UNCLEAR, "t1")
    assert work(tenant_id, Model(reply)) == "no label"
    assert rows("select * from preflight_session") == []
    assert [row.relabelled for row in rows("select * from preflight_decision")] == [[]]


def test_an_outage_puts_the_question_off(client: TestClient, tenant_id: UUID) -> None:
    ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)
    say(client, UNCLEAR, "t1")
    assert work(tenant_id, Model(LlmFailure(Cause.TIMEOUT, "too slow"))).startswith("put off")
    assert [row.relabelled for row in rows("select * from preflight_decision")] == [None]


def test_the_built_in_model_is_not_asked(client: TestClient, tenant_id: UUID) -> None:
    ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)
    model = Model()
    assert work(tenant_id, model, context_planner_model="extractive") == "no model that could be asked"
    assert model.asked == []


def test_a_sure_message_is_not_looked_at(client: TestClient, tenant_id: UUID) -> None:
    ask(client, "fix the bug in parser.py", session_id=SESSION, tools=TOOLS)
    assert work_of(tenant_id) is None


def test_switched_off_nothing_is_asked(
    client: TestClient, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFTERTURN_PREFLIGHT_RELABEL", "false")
    preflight_settings.cache_clear()
    ask(client, UNCLEAR, session_id=SESSION, tools=TOOLS)
    assert work_of(tenant_id) is None
