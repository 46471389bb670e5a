"""Calls for people who look: unfinished work, the artifacts of a session, sets of priors, one's own key."""

from typing import Any
from uuid import UUID

from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.due_work.kinds import WorkKind
from models.due_work.queue import enqueue
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import plant_everywhere, post_turn, tool_turn
from tests.integration.learned import learn_often
from tests.integration.sealing import Environment

WORD = "zqxmarker"
SESSION = "session-of-somebody"


def get(client: TestClient, path: str, status: int = 200, **params: Any) -> dict[str, Any]:
    answer = client.get(path, params=params)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def run_sql(statement: str, **values: Any) -> None:
    with session.transaction() as db:
        db.execute(text(statement), values)


def become_a_stranger(client: TestClient) -> None:
    """Give the client a key of another tenant."""
    with session.transaction() as db:
        tenant_id = ensure_tenant(db, "a stranger")
    client.headers["Authorization"] = f"Bearer {make_key(tenant_id)}"


def test_work_is_counted_by_kind_and_the_dead_stand_first(client: TestClient, tenant_id: UUID) -> None:
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        for name in ("a", "b", "c", "d"):
            enqueue(scope, WorkKind.SUMMARIZE, name)
        enqueue(scope, WorkKind.ARTIFACT, "art_1")
    run_sql("update due_work set due_at = now() - interval '1 hour' where key = 'b'")
    run_sql("update due_work set due_at = now() + interval '1 hour' where key = 'c'")
    run_sql("update due_work set state = 'dead', last_error = 'it broke', attempts = 8 where key = 'd'")
    run_sql("update due_work set state = 'idle' where key = 'a'")
    answer = get(client, "/v1/work")
    kinds = {one["kind"]: one for one in answer["kinds"]}
    assert set(kinds) == set(WorkKind)
    of_sessions = kinds["summarize"]
    assert (of_sessions["due"], of_sessions["later"], of_sessions["dead"]) == (1, 1, 1)
    assert 3_590 < of_sessions["oldest_due_age_s"] < 3_900
    assert kinds["learn"]["oldest_due_age_s"] is None
    assert [one["key"] for one in answer["work"]] == ["d", "b", "art_1", "c"]
    assert (answer["work"][0]["state"], answer["work"][0]["last_error"]) == ("dead", "it broke")
    assert [one["session_id"] for one in answer["work"]] == ["d", "b", None, "c"]
    assert answer["more"] is False


def test_a_long_list_of_work_is_cut_and_says_so(client: TestClient, tenant_id: UUID) -> None:
    with session.transaction() as db:
        for number in range(5):
            enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, f"s{number}")
    short = get(client, "/v1/work", limit=2)
    assert (len(short["work"]), short["more"]) == (2, True)
    assert get(client, "/v1/work", limit=5)["more"] is False
    for limit in (0, 201, "x"):
        assert get(client, "/v1/work", 422, limit=limit)["field"] == "limit"


def test_work_of_others_is_not_listed(client: TestClient, tenant_id: UUID) -> None:
    with session.transaction() as db:
        enqueue(Scope(db, tenant_id), WorkKind.SUMMARIZE, SESSION)
    become_a_stranger(client)
    answer = get(client, "/v1/work")
    assert (answer["work"], sum(one["due"] for one in answer["kinds"])) == ([], 0)


def test_artifacts_come_with_their_summaries_by_focus(client: TestClient, tenant_id: UUID) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, "user")
    answer = get(client, f"/v1/sessions/{SESSION}/artifacts")
    result, upload = sorted(answer["artifacts"], key=lambda one: -one["uses"])
    assert (result["uses"], result["last_seq"], upload["uses"], upload["last_seq"]) == (1, 3, 0, None)
    (summary,) = result["summaries"]
    assert (summary["focus"], summary["state"], summary["method"] is None) == (WORD, "ready", False)
    assert answer["more"] is False
    one = get(client, f"/v1/sessions/{SESSION}/artifacts", limit=1)
    assert (len(one["artifacts"]), one["more"]) == (1, True)
    for limit in (0, 101):
        get(client, f"/v1/sessions/{SESSION}/artifacts", 422, limit=limit)


def test_artifacts_of_a_sealed_session_are_shown_open(client: TestClient, keys: Environment) -> None:
    del keys  # new text is sealed
    post_turn(client, SESSION, tool_turn("t1", WORD))
    with session.read_transaction() as db:
        artifact_id = db.execute(text("select min(artifact_id) from artifact_use")).scalar_one()
    asked = {"focus": f"where is {WORD}", "session_id": SESSION}
    assert client.put(f"/v1/artifacts/{artifact_id}/summaries", json=asked).status_code == 202
    (found,) = get(client, f"/v1/sessions/{SESSION}/artifacts")["artifacts"]
    assert WORD in found["preview"]
    assert [one["focus"] for one in found["summaries"]] == [f"where is {WORD}"]


def test_artifacts_go_with_their_session_and_are_shown_to_no_other_tenant(
    client: TestClient, tenant_id: UUID
) -> None:
    plant_everywhere(tenant_id, client, SESSION, WORD, "user")
    own = client.headers["Authorization"]
    become_a_stranger(client)
    assert WORD not in client.get(f"/v1/sessions/{SESSION}/artifacts").text
    get(client, f"/v1/sessions/{SESSION}/artifacts", 404)
    client.headers["Authorization"] = own
    assert client.delete(f"/v1/sessions/{SESSION}").status_code == 200
    get(client, f"/v1/sessions/{SESSION}/artifacts", 404)


def test_a_session_without_artifacts_has_none(client: TestClient) -> None:
    post_turn(client, "plain", {"turn_id": "t", "messages": [{"role": "user", "content": "hello"}]})
    assert get(client, "/v1/sessions/plain/artifacts") == {"artifacts": [], "more": False}
    get(client, "/v1/sessions/nobody/artifacts", 404)


def test_sets_of_priors_are_listed_with_their_judgement(client: TestClient, tenant_id: UUID) -> None:
    tool = {"name": "read_file", "description": "Reads."}
    assert client.put("/v1/catalogs/main", json={"tools": [tool]}).status_code == 200
    learn_often(tenant_id, "main", {"read": "read_file"})
    (found,) = get(client, "/v1/catalogs/main/priors")["sets"]
    assert (found["version"], found["state"]) == (1, "active")
    assert found["activated_at"] is not None
    assert get(client, "/v1/catalogs/other/priors") == {"sets": []}


def test_a_key_is_told_what_it_may_do(client: TestClient, tenant_id: UUID) -> None:
    key = make_key(tenant_id, "read", "write")
    client.headers["Authorization"] = f"Bearer {key}"
    answer = client.get("/v1/key")
    assert answer.json()["scopes"] == ["read", "write"]
    assert answer.json()["key_id"] == key.split("_")[1]
    assert key not in answer.text
    assert key.split("_")[2] not in answer.text
    assert answer.headers["cache-control"] == "no-store"
