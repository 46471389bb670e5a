"""A document that several uploaded: whoever is erased takes the title along, and what was read with it."""

from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from models import database as session
from models.artifacts.summary import MadeSummary, SummaryKey, Wish, store_made, want_summary
from models.due_work.queue import WorkKind, find_work
from models.scope import Scope
from tests.integration.erasing import PAD, tables_with
from tests.integration.sealing import FIRST, SECOND, Environment

WORD = "zqxmarker"
DOCUMENT = PAD * 200


def upload(client: TestClient, title: str, **owner: str) -> str:
    answer = client.post("/v1/attachments", json={"content": DOCUMENT, "title": title, **owner})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["artifact_id"])


def title_of(client: TestClient, artifact_id: str) -> str:
    return str(client.get(f"/v1/artifacts/{artifact_id}").json()["title"])


ERASED = [
    ({"user_id": "anna"}, "/v1/users/anna"),
    ({"session_id": "walk"}, "/v1/sessions/walk"),
]


@pytest.mark.parametrize(("owner", "path"), ERASED)
def test_a_title_goes_with_whoever_gave_it_and_another_s_takes_its_place(
    client: TestClient, owner: dict[str, str], path: str
) -> None:
    artifact_id = upload(client, WORD, **owner)
    upload(client, "A plain title", user_id="bert")
    assert title_of(client, artifact_id) == WORD
    assert client.delete(path).json()["removed"] == {"artifact_attachment": 1}
    assert tables_with(WORD) == {}
    assert title_of(client, artifact_id) == "A plain title"


def test_sealed_titles_go_the_same_way(client: TestClient, keys: Environment) -> None:  # noqa: ARG001 (it seals)
    artifact_id = upload(client, WORD, user_id="anna")
    upload(client, "A plain title", user_id="bert")
    client.delete("/v1/users/anna")
    assert title_of(client, artifact_id) == "A plain title"


def test_a_title_goes_also_where_its_key_is_lost(client: TestClient, keys: Environment) -> None:
    artifact_id = upload(client, WORD, user_id="anna")
    upload(client, "A plain title", user_id="bert")
    keys.use(SECOND)
    assert client.delete("/v1/users/anna").status_code == 200
    keys.use(FIRST)
    assert title_of(client, artifact_id) == ""


def test_where_no_other_upload_has_a_title_there_is_none(client: TestClient) -> None:
    artifact_id = upload(client, WORD, user_id="anna")
    with_turn = {"role": "tool", "tool_call_id": "c", "content": DOCUMENT}
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        with_turn,
        {"role": "assistant", "content": "Done."},
    ]
    turn = client.post("/v1/sessions/other/turns", json={"turn_id": "t1", "messages": messages})
    assert turn.status_code == 202, turn.text
    client.delete("/v1/users/anna")
    assert title_of(client, artifact_id) == ""
    assert tables_with(WORD) == {}


def test_a_title_that_another_gave_too_stays_and_so_do_the_readings(
    client: TestClient, tenant_id: UUID
) -> None:
    artifact_id = upload(client, "The rules", user_id="anna")
    upload(client, "The rules", user_id="bert")
    _read(tenant_id, artifact_id, "They say so.")
    assert client.delete("/v1/users/anna").json()["invalidated"] == {}
    assert title_of(client, artifact_id) == "The rules"


def test_what_was_read_with_the_title_is_made_anew(client: TestClient, tenant_id: UUID) -> None:
    artifact_id = upload(client, WORD, user_id="anna")
    upload(client, "A plain title", user_id="bert")
    _read(tenant_id, artifact_id, f"The {WORD} says so.")
    receipt = client.delete("/v1/users/anna").json()
    assert receipt["invalidated"]["artifact_summary"] == 1
    assert receipt["requeued"] == 1
    assert tables_with(WORD) == {}
    with session.read_transaction() as db:
        assert find_work(Scope(db, tenant_id), WorkKind.ARTIFACT, artifact_id) is not None


def _read(tenant_id: UUID, artifact_id: str, said: str) -> None:
    key = SummaryKey(artifact_id, "focus-key", "medium", "en")
    made = MadeSummary("m", "p1", "en", said, 4, 4, "summary")
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        want_summary(scope, Wish(key, "the rules", ["rules"], "asked", user_id="bert"), ttl_s=600)
        assert store_made(scope, key, made, ttl_s=600)
