"""Contexts of many sessions in one call: each line is answered as the call alone would be."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.context import routes
from api.settings import api_settings
from models import database as session
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.erasing import talk

WINDOW: dict[str, Any] = {
    "model": "gpt-4o",
    "context_window": 32_000,
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "And now?"}],
}


def ask(client: TestClient, *lines: Any, **headers: str) -> list[dict[str, Any]]:
    """The results of a batch; a text stands for itself."""
    content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    answer = client.post("/v1/contexts", content=content, headers=headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def of(session_id: str, **fields: Any) -> dict[str, Any]:
    return {**WINDOW, "session_id": session_id, **fields}


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Limits of the test's own, in force before the application reads them."""
    yield monkeypatch
    monkeypatch.undo()
    api_settings.cache_clear()


def narrowed(patch: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in settings.items():
        patch.setenv(f"AFTERTURN_{name.upper()}", value)
    api_settings.cache_clear()


def test_each_line_has_the_answer_of_the_call_alone(client: TestClient) -> None:
    for name in ("s1", "s2"):
        talk(client, name, 3)
    results = ask(client, of("s1", dry_run=True), "", of("s2", dry_run=True), of("new", dry_run=True))
    assert [(one["line"], one["session_id"], one["status"]) for one in results] == [
        (1, "s1", 200),
        (2, "s2", 200),
        (3, "new", 200),
    ]
    for one in results:
        path = f"/v1/sessions/{one['session_id']}/context"
        alone = client.post(path, json={**WINDOW, "dry_run": True}).json()
        assert one["context"]["messages"] == alone["messages"]
        assert one["context"]["certificate"] == alone["certificate"]


def test_a_line_at_fault_harms_no_other(client: TestClient) -> None:
    talk(client, "s1", 3)
    faulty: list[tuple[Any, int]] = [
        ("{", 400),
        (of("a/b"), 422),
        (of("s1", catalog="none"), 404),
        (of("s1", messages=[]), 422),
        (of("s1", max_tokens=400, context_window=410, system_prompt="long " * 200), 422),
        (of("s1", after_turn="never"), 409),
        ({"model": "gpt-4o"}, 422),
        ({**of("s1"), "surplus": 1}, 422),
    ]
    results = ask(client, of("s1"), *(line for line, _ in faulty), of("s1"))
    assert [one["status"] for one in results] == [200, *(status for _, status in faulty), 200]
    for one, (line, status) in zip(results[1:-1], faulty, strict=True):
        assert one["error"]["status"] == status
        assert "context" not in one
        if isinstance(line, dict) and one.get("session_id"):
            body = {name: value for name, value in line.items() if name != "session_id"}
            alone = client.post(f"/v1/sessions/{line['session_id']}/context", json=body)
            assert (alone.status_code, alone.json()["detail"]) == (status, one["error"]["detail"])


def test_a_fault_of_the_database_stays_in_its_line(client: TestClient) -> None:
    talk(client, "s1", 1)
    talk(client, "broken", 1)
    with session.transaction() as db:
        db.execute(text("update message set body = 'no JSON' where session_id = 'broken'"))
    first, broken, last = ask(client, of("s1"), of("broken"), of("s1"))
    assert (first["status"], broken["status"], last["status"]) == (200, 500, 200)
    assert broken["error"]["type"] == "internal-error"
    assert "no JSON" not in json.dumps(broken)


def test_a_batch_has_a_largest_number_of_lines_and_bytes(
    client: TestClient, narrow: pytest.MonkeyPatch
) -> None:
    narrowed(narrow, max_batch_contexts="2", max_batch_bytes="2000")
    assert len(ask(client, of("s1"), of("s2"))) == 2
    three = client.post("/v1/contexts", content="\n".join([json.dumps(of("s"))] * 3))
    assert (three.status_code, three.json()["limit"]) == (413, 2)
    large = client.post("/v1/contexts", content=json.dumps(of("s", system_prompt="x" * 2_000)))
    assert (large.status_code, large.json()["limit"]) == (413, 2_000)


def test_each_line_counts_as_a_call_of_the_key(client: TestClient, narrow: pytest.MonkeyPatch) -> None:
    narrowed(narrow, rate_per_s="0.001", rate_burst="3")
    results = ask(client, *[of("s1")] * 5)
    assert [one["status"] for one in results] == [200, 200, 200, 429, 429]
    assert results[3]["error"]["retry_after_s"] > 0
    assert client.get("/v1/usage").status_code == 429


def test_lines_share_the_longest_wait_of_a_call(client: TestClient, narrow: pytest.MonkeyPatch) -> None:
    narrowed(narrow, max_wait_ms="3000")
    talk(client, "s1", 1)
    began = time.monotonic()
    results = ask(client, *[of("s1", after_turn="never", wait_ms=60_000)] * 10)
    assert [one["status"] for one in results] == [409] * 10
    assert 2 <= time.monotonic() - began < 25, "ten waits one after the other take 30 s"


def test_a_batch_that_takes_too_long_begins_no_further_line(
    client: TestClient, narrow: pytest.MonkeyPatch
) -> None:
    narrow.setattr(routes, "MOST_S", 0.3)
    talk(client, "s1", 1)
    first, *others = ask(client, of("s1", after_turn="never", wait_ms=500), of("s1"), of("s1"))
    assert first["status"] == 409
    assert [(one["status"], one["error"]["retry_after_s"]) for one in others] == [(503, 1)] * 2


def test_nothing_of_an_erased_session_is_left_in_a_batch(client: TestClient) -> None:
    talk(client, "s1", 3)
    assert len(ask(client, of("s1"))[0]["context"]["messages"]) > 1
    assert client.delete("/v1/sessions/s1").status_code == 200
    [after] = ask(client, of("s1"))
    assert after["context"]["messages"] == WINDOW["messages"]


def test_a_batch_reads_the_rows_of_its_own_tenant_alone(client: TestClient) -> None:
    talk(client, "s1", 3)
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    [found] = ask(client, of("s1"), Authorization=f"Bearer {make_key(other)}")
    assert found["context"]["messages"] == WINDOW["messages"]
    lacks = client.post("/v1/contexts", headers={"Authorization": f"Bearer {make_key(other, 'write')}"})
    assert (lacks.status_code, lacks.json()["scope"]) == (403, "read")


def test_a_batch_leaves_the_traces_that_single_requests_leave(client: TestClient) -> None:
    talk(client, "s1", 1)
    ask(client, of("s1", system_prompt="Be kind and brief."))
    with session.read_transaction() as db:
        query = "select system_tokens from session where session_id = 's1'"
        assert db.execute(text(query)).scalar_one() > 0
