"""Artifacts over HTTP: facts, slices, and summaries asked for and read."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from context.artifacts.content import artifact_id_of
from context.focus import normalise
from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from models import database as session
from models.artifacts.summary import MadeSummary, SummaryKey, store_made, take_wanted
from models.due_work.queue import WorkKind, find_work
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key

pytestmark = pytest.mark.usefixtures("one_day")

REPORT = "The crane at berth 4 was stopped at nine because the wind was above the limit.\n" * 100
FOCUS = "Why was the crane at berth 4 stopped?"
ANSWER = "It was stopped because of the wind."


@pytest.fixture
def identity(client: TestClient) -> str:
    """A stored document."""
    answer = client.post("/v1/attachments", json={"content": REPORT, "title": "Report"})
    assert answer.status_code == 201
    return str(answer.json()["artifact_id"])


def rows(query: str, **values: Any) -> list[Any]:
    with session.read_transaction() as db:
        return list(db.execute(text(query), values))


def ask(client: TestClient, identity: str, focus: str) -> Any:
    return client.put(f"/v1/artifacts/{identity}/summaries", json={"focus": focus})


def read(client: TestClient, identity: str, focus: str) -> Any:
    return client.get(f"/v1/artifacts/{identity}/summaries", params={"focus": focus})


def fulfil(tenant_id: UUID, identity: str, said: str = ANSWER, **made: Any) -> list[SummaryKey]:
    """Answer every wish as a worker does."""
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        wishes = take_wanted(scope, identity, most=10)
        for wish in wishes:
            text_ = None if "rejected_because" in made else said
            tokens = None if text_ is None else len(said)
            summary = MadeSummary(
                "m", ARTIFACT_PROMPT_VERSION, wish.key.language, text_, tokens, tokens, "test", **made
            )
            assert store_made(scope, wish.key, summary, ttl_s=60)
    return [wish.key for wish in wishes]


def test_what_is_known_of_an_artifact_is_answered(client: TestClient, identity: str) -> None:
    body = client.get(f"/v1/artifacts/{identity}").json()
    assert body.pop("tokens") > 1_000
    assert body.pop("created_at") == body.pop("last_used_at")
    assert body.pop("preview").startswith("The crane at berth 4")
    assert body == {
        "artifact_id": identity,
        "artifact_type": "document",
        "kind": "text",
        "title": "Report",
        "media_type": "text/plain",
        "size_chars": len(REPORT),
        "size_bytes": len(REPORT),
        "language": "en",
        "indexed": False,
    }


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("from=0&to=10", 0, 10),
        ("from=4&to=4", 4, 4),
        ("to=9", 0, 9),
        ("from=7890", 7_890, len(REPORT)),
        ("from=10&to=999999", 10, len(REPORT)),
        ("from=999999", 999_999, 999_999),
    ],
)
def test_a_slice_is_the_text_between_two_places(
    client: TestClient, identity: str, query: str, start: int, end: int
) -> None:
    found = client.get(f"/v1/artifacts/{identity}?{query}").json()["slice"]
    assert found["text"] == REPORT[start:end]
    assert (found["from"], found["to"], found["next_from"]) == (start, end, None)


@pytest.mark.parametrize(
    "query", ["from=5&to=4", "from=-1", "to=x", "from=1e3", "from=9999999999", "until=4", "from=\u0663"]
)
def test_a_slice_that_is_none_is_refused_by_name(client: TestClient, identity: str, query: str) -> None:
    answer = client.get(f"/v1/artifacts/{identity}?{query}")
    assert answer.status_code == 422
    assert answer.json()["field"] in {"from", "to", "until"}


def test_a_place_beyond_all_texts_is_told_the_last_place(client: TestClient, identity: str) -> None:
    assert client.get(f"/v1/artifacts/{identity}?from=999999999").json()["slice"]["text"] == ""
    refused = client.get(f"/v1/artifacts/{identity}?from=1000000000").json()
    assert (refused["field"], refused["limit"]) == ("from", 999_999_999)
    assert refused["detail"] == "from: must be at most 999999999"


@pytest.mark.parametrize("path", ["", "/summaries?focus=x", "?from=0"])
@pytest.mark.parametrize(
    ("name", "status"), [(artifact_id_of("nothing"), 404), ("art_x", 404), ("x%00y", 422), ("%FF", 422)]
)
def test_an_artifact_that_is_not_there_is_not_found(
    client: TestClient, name: str, status: int, path: str
) -> None:
    """What cannot be an id is told as for any other id of a path."""
    assert client.get(f"/v1/artifacts/{name}{path}").status_code == status


def test_a_summary_is_asked_for_prepared_and_read(client: TestClient, identity: str, tenant_id: UUID) -> None:
    assert read(client, identity, FOCUS).status_code == 404
    asked = ask(client, identity, FOCUS)
    assert asked.status_code == 202
    assert asked.json() == {
        "artifact_id": identity,
        "focus": FOCUS,
        "focus_key": normalise(FOCUS).key,
        "state": "wanted",
    }
    with session.read_transaction() as db:
        assert find_work(Scope(db, tenant_id), WorkKind.ARTIFACT, identity) is not None
    fulfil(tenant_id, identity)
    again = ask(client, identity, FOCUS.upper())
    assert (again.status_code, again.json()["state"]) == (200, "ready")
    found = read(client, identity, FOCUS).json()
    assert (found["match"], found["similarity"], found["text"]) == ("exact", 1.0, ANSWER)
    assert (found["focus"], found["model"], found["size_class"]) == (FOCUS, "m", "medium")


def test_a_near_focus_is_answered_as_what_it_is(client: TestClient, identity: str, tenant_id: UUID) -> None:
    ask(client, identity, FOCUS)
    fulfil(tenant_id, identity)
    near = "Why was the crane at berth 4 stopped today?"
    found = read(client, identity, near).json()
    assert found["match"] == "near"
    assert 0 < found["similarity"] < 1
    assert (found["asked_focus"], found["focus"]) == (near, FOCUS)


@pytest.mark.parametrize(
    "other",
    [
        "Why was the crane at berth 5 stopped?",
        "Why was the crane at berth 4 not stopped?",
        "Who pays for the repair of the gate?",
        "",
    ],
)
def test_another_focus_is_not_answered_and_the_answer_says_how_to_ask(
    client: TestClient, identity: str, tenant_id: UUID, other: str
) -> None:
    ask(client, identity, FOCUS)
    fulfil(tenant_id, identity)
    answer = read(client, identity, other)
    assert answer.status_code == 404
    assert f"PUT /v1/artifacts/{identity}/summaries" in answer.json()["detail"]


def test_how_reads_were_answered_is_counted(client: TestClient, identity: str, tenant_id: UUID) -> None:
    ask(client, identity, FOCUS)
    fulfil(tenant_id, identity)
    for focus in (FOCUS, FOCUS, FOCUS + " Today?", "Who pays for the repair of the gate?"):
        read(client, identity, focus)
    counted = rows("select how, readings from artifact_reading where day = current_date")
    assert dict(tuple(one) for one in counted) == {"exact": 2, "near": 1, "none": 1}
    assert rows("select uses from artifact_summary")[0][0] == 3


def test_the_general_summary_is_a_focus_of_its_own(
    client: TestClient, identity: str, tenant_id: UUID
) -> None:
    assert ask(client, identity, "").json()["focus_key"] == "general"
    fulfil(tenant_id, identity, "All of it is about a crane.")
    assert read(client, identity, "").json()["match"] == "exact"
    assert read(client, identity, FOCUS).status_code == 404


def test_a_summary_that_was_rejected_says_why_and_is_not_paid_for_again(
    client: TestClient, identity: str, tenant_id: UUID
) -> None:
    ask(client, identity, FOCUS)
    fulfil(tenant_id, identity, rejected_because="empty")
    missed = read(client, identity, FOCUS)
    assert (missed.status_code, missed.json()["state"], missed.json()["reason"]) == (404, "rejected", "empty")
    answer = ask(client, identity, FOCUS)
    assert (answer.status_code, answer.json()["state"], answer.json()["reason"]) == (200, "rejected", "empty")
    assert fulfil(tenant_id, identity) == []


def test_a_summary_that_was_rejected_is_tried_again_where_that_is_asked(
    client: TestClient, identity: str, tenant_id: UUID
) -> None:
    ask(client, identity, FOCUS)
    fulfil(tenant_id, identity, rejected_because="empty")
    path = f"/v1/artifacts/{identity}/summaries"
    assert client.put(path, json={"focus": FOCUS, "again": True}).json()["state"] == "wanted"
    fulfil(tenant_id, identity)
    assert ask(client, identity, FOCUS).json()["state"] == "ready"


def test_what_an_older_prompt_had_rejected_is_asked_for_anew(
    client: TestClient, identity: str, tenant_id: UUID
) -> None:
    ask(client, identity, FOCUS)
    fulfil(tenant_id, identity, rejected_because="empty")
    with session.transaction() as db:
        db.execute(text("update artifact_summary set prompt_version = 'artifact-0'"))
    assert ask(client, identity, FOCUS).json()["state"] == "wanted"


def test_what_is_too_small_for_a_summary_is_refused_at_once(client: TestClient) -> None:
    sent = client.post("/v1/attachments", json={"content": "The crane was stopped. " * 5})
    answer = ask(client, str(sent.json()["attachment_id"]), FOCUS)
    assert (answer.status_code, answer.json()["state"], answer.json()["reason"]) == (
        200,
        "rejected",
        "too-small",
    )
    assert rows("select count(*) from artifact_summary")[0][0] == 0


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "focus"),
        ({"focus": "x" * 2_001}, "focus"),
        ({"focus": 1}, "focus"),
        ({"focus": "x", "model": "m"}, "model"),
        ({"focus": "x", "wait_ms": -1}, "wait_ms"),
    ],
)
def test_a_wish_that_is_none_is_refused(
    client: TestClient, identity: str, body: dict[str, Any], named: str
) -> None:
    answer = client.put(f"/v1/artifacts/{identity}/summaries", json=body)
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert rows("select count(*) from artifact_summary")[0][0] == 0


def test_a_focus_that_is_too_long_is_refused_when_it_is_read_too(client: TestClient, identity: str) -> None:
    assert read(client, identity, "x" * 2_001).json()["limit"] == 2_000
    assert read(client, identity, "x" * 2_000).status_code == 404


def test_a_wish_that_waits_answers_in_time_where_nobody_works(client: TestClient, identity: str) -> None:
    answer = client.put(f"/v1/artifacts/{identity}/summaries", json={"focus": FOCUS, "wait_ms": 60})
    assert answer.status_code == 202
    assert rows("select awaited from due_work where kind = 'artifact'")[0][0] is True


def test_a_wish_for_what_is_not_the_tenants_is_not_found(client: TestClient, identity: str) -> None:
    with session.transaction() as db:
        stranger = ensure_tenant(db, "second")
    client.headers["Authorization"] = f"Bearer {make_key(stranger)}"
    assert ask(client, identity, FOCUS).status_code == 404
    assert rows("select count(*) from artifact_summary")[0][0] == 0
