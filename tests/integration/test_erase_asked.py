"""Words that artifacts were asked with: each goes with whoever said it, named or not."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from models import database as session
from models.artifacts.summary import MadeSummary, store_made, take_wanted, want_summary
from models.scope import Scope
from tests.integration.erasing import PAD, post_turn, tables_with, tool_turn
from tests.integration.test_context_plan_job import AGENT

WORD = "zqxmarker"
FOCUS = f"Where is the {WORD}?"
DOCUMENT = PAD * 200
OWNERS = [({"session_id": "walk"}, "/v1/sessions/walk"), ({"user_id": "anna"}, "/v1/users/anna")]


def upload(client: TestClient, **owner: str) -> str:
    answer = client.post("/v1/attachments", json={"content": DOCUMENT, **owner})
    assert answer.status_code in {200, 201}, answer.text
    return str(answer.json()["artifact_id"])


def ask(client: TestClient, artifact_id: str, focus: str = FOCUS, **owner: str) -> dict[str, Any]:
    answer = client.put(f"/v1/artifacts/{artifact_id}/summaries", json={"focus": focus, **owner})
    assert answer.status_code in {200, 202}, answer.text
    said: dict[str, Any] = answer.json()
    return said


def fulfil(tenant_id: UUID, artifact_id: str, model: str = "m") -> None:
    """Answer every wish as a worker does."""
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        for wish in take_wanted(scope, artifact_id, most=10):
            made = MadeSummary(model, ARTIFACT_PROMPT_VERSION, wish.key.language, WORD, 1, 1, "test")
            assert store_made(scope, wish.key, made, ttl_s=600)


def erased(client: TestClient, path: str) -> dict[str, Any]:
    answer = client.delete(path)
    assert answer.status_code == 200, answer.text
    receipt: dict[str, Any] = answer.json()
    return receipt


@pytest.mark.parametrize("is_made", [False, True])
@pytest.mark.parametrize(("owner", "path"), OWNERS)
def test_a_focus_goes_with_whoever_it_was_asked_for(
    client: TestClient, tenant_id: UUID, owner: dict[str, str], path: str, *, is_made: bool
) -> None:
    artifact_id = upload(client)
    ask(client, artifact_id, **owner)
    if is_made:
        fulfil(tenant_id, artifact_id)
    assert tables_with(WORD) == {"artifact_summary": 1}
    assert erased(client, path)["invalidated"]["artifact_summary"] == 1
    assert tables_with(WORD) == {}
    assert client.get(f"/v1/artifacts/{artifact_id}").status_code == 200


@pytest.mark.parametrize(("owner", "path"), OWNERS)
def test_a_focus_that_nobody_was_named_for_is_tied_by_the_next_call_that_names_somebody(
    client: TestClient, tenant_id: UUID, owner: dict[str, str], path: str
) -> None:
    artifact_id = upload(client)
    ask(client, artifact_id)
    fulfil(tenant_id, artifact_id)
    assert ask(client, artifact_id, **owner)["state"] == "ready"
    erased(client, path)
    assert tables_with(WORD) == {}


@pytest.mark.parametrize(("owner", "path"), OWNERS)
def test_a_focus_of_nobody_goes_with_any_of_those_who_had_the_document(
    client: TestClient, tenant_id: UUID, owner: dict[str, str], path: str
) -> None:
    artifact_id = upload(client, **owner)
    upload(client, user_id="bert")
    ask(client, artifact_id)
    fulfil(tenant_id, artifact_id)
    assert erased(client, path)["invalidated"] == {"artifact_summary": 1}
    assert tables_with(WORD) == {}


def test_a_focus_of_nobody_goes_with_the_message_that_brought_the_result(client: TestClient) -> None:
    for session_id in ("walk", "other"):
        post_turn(client, session_id, tool_turn("t1", "plain"))
    with session.read_transaction() as db:
        artifact_id = db.execute(text("select min(artifact_id) from artifact_use")).scalar_one()
    ask(client, artifact_id)
    assert erased(client, "/v1/sessions/walk/messages/3")["invalidated"]["artifact_summary"] == 1
    assert tables_with(WORD) == {}


def test_words_of_others_and_the_general_summary_stay(client: TestClient, tenant_id: UUID) -> None:
    artifact_id = upload(client, session_id="walk")
    upload(client, user_id="bert")
    ask(client, artifact_id, user_id="bert")
    ask(client, artifact_id, "", session_id="walk")
    fulfil(tenant_id, artifact_id)
    erased(client, "/v1/sessions/walk")
    with session.read_transaction() as db:
        kept = db.execute(text("select focus, user_id from artifact_summary order by focus")).all()
    assert [tuple(row) for row in kept] == [("", None), (FOCUS, "bert")]


def test_what_is_made_of_a_wish_belongs_to_whoever_wished_it(client: TestClient, tenant_id: UUID) -> None:
    artifact_id = upload(client)
    ask(client, artifact_id)
    with session.transaction() as db:
        (nobodys,) = take_wanted(Scope(db, tenant_id), artifact_id, most=10)
    fulfil(tenant_id, artifact_id)
    with session.transaction() as db:
        want_summary(Scope(db, tenant_id), replace(nobodys, session_id="walk"), ttl_s=600)
    fulfil(tenant_id, artifact_id)
    erased(client, "/v1/sessions/walk")
    assert tables_with(WORD) == {}


A_STEP: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "seen"},
]
"""A call and its result: only a request that answers calls is read for again."""


def test_a_context_of_a_session_without_a_turn_asks_in_its_name(client: TestClient) -> None:
    artifact_id = upload(client)
    asked = {
        "model": "gpt-4o-mini",
        "context_window": 3_000,
        "max_tokens": 500,
        **AGENT,
        "messages": [{"role": "user", "content": f"Give me an overview of the {WORD}."}, *A_STEP],
        "attachments": [{"attachment_id": artifact_id}],
        "focus": f"an overview of the {WORD}",
    }
    answer = client.post("/v1/sessions/walk/context", json=asked)
    assert answer.status_code == 200, answer.text
    with session.read_transaction() as db:
        owners = db.execute(text("select session_id from artifact_summary where focus <> ''")).scalars()
        assert set(owners) == {"walk"}
    erased(client, "/v1/sessions/walk")
    assert tables_with(WORD) == {}


@pytest.mark.parametrize("field", ["session_id", "user_id"])
def test_a_name_that_nobody_could_be_erased_by_is_refused(client: TestClient, field: str) -> None:
    path = f"/v1/artifacts/{upload(client)}/summaries"
    for name in ("", "a/b", "x" * 201):
        answer = client.put(path, json={"focus": FOCUS, field: name})
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert tables_with(WORD) == {}
