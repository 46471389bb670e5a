"""Every line that a request or a piece of work logs says which one it was."""

from collections.abc import Iterator, MutableMapping
from typing import Any
from uuid import UUID

import pytest
import structlog
from fastapi.testclient import TestClient
from structlog.testing import LogCapture

from models import database as session
from models.due_work.queue import Claim, WorkKind, enqueue, find_work
from models.scope import Scope
from tests.integration.works import QUICK
from workers.jobs.lifecycle import run_work

log = structlog.get_logger()

Lines = list[MutableMapping[str, Any]]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged, with what every line of a process has."""
    capture = LogCapture()
    before = structlog.get_config()
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture])
    yield capture.entries
    structlog.configure(**before)


def classify(client: TestClient, **headers: str) -> str:
    """A request that logs a line; returns the name that it was answered with."""
    answer = client.post("/v1/preflight", json={"message": "hello"}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-request-id"]


def test_a_request_is_named_in_its_answer_and_its_lines(client: TestClient, lines: Lines) -> None:
    names = [classify(client), classify(client)]
    logged = [line["request_id"] for line in lines if line["event"] == "preflight_classified"]
    assert logged == names
    assert names[0] != names[1]


def done(lines: Lines) -> list[dict[str, Any]]:
    """The lines that end a request, without their level."""
    return [
        {key: value for key, value in line.items() if key not in {"event", "log_level", "ms"}}
        for line in lines
        if line["event"] == "request_done"
    ]


def test_a_request_is_logged_once_by_its_route_without_a_word_of_it(
    client: TestClient, tenant_id: UUID, lines: Lines
) -> None:
    name = client.get("/v1/sessions/a-title/turns?from=1&to=marigold").headers["x-request-id"]
    route = "/v1/sessions/{session_id}/turns"
    expected = {
        "method": "GET",
        "route": route,
        "status": 422,
        "tenant_id": str(tenant_id),
        "request_id": name,
    }
    assert done(lines) == [expected]
    assert all(line["ms"] > 0 for line in lines if line["event"] == "request_done")
    assert "marigold" not in str(lines)
    assert "a-title" not in str(lines)


def test_the_tenant_of_a_request_is_that_of_its_key(
    client: TestClient, tenant_id: UUID, lines: Lines
) -> None:
    client.post("/v1/preflight", json={"message": "hello"}, headers={"Authorization": "Bearer wrong"})
    client.get("/mcp")
    client.post("/nowhere/secret-path", json={})
    told = [(line["route"], line["status"], line["tenant_id"]) for line in done(lines)]
    assert told == [("/v1/preflight", 401, None), ("/mcp", 405, str(tenant_id)), ("none", 404, None)]


@pytest.mark.parametrize("probe", ["/healthz", "/readyz", "/metrics"])
def test_only_a_failed_probe_is_logged(client: TestClient, lines: Lines, probe: str) -> None:
    status = client.get(probe).status_code
    assert [line["status"] for line in done(lines)] == [status] * (status >= 400)
    assert client.post(probe).status_code == 405
    assert done(lines)[-1]["status"] == 405


def test_a_caller_may_name_its_request(client: TestClient) -> None:
    assert classify(client, **{"X-Request-Id": "trace-0042.a"}) == "trace-0042.a"


@pytest.mark.parametrize("given", ["what do you know of me", "short", "x" * 65, "a\tb-------"])
def test_a_name_that_could_be_words_is_not_taken(client: TestClient, given: str) -> None:
    assert classify(client, **{"X-Request-Id": given}) != given


def test_what_work_logs_has_its_id(tenant_id: UUID, lines: Lines) -> None:
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        enqueue(scope, WorkKind.SUMMARIZE, "s1")
        found = find_work(scope, WorkKind.SUMMARIZE, "s1")
    assert found is not None

    def handle(_: Claim) -> str:
        log.info("something_happened")
        raise RuntimeError("words of a user")

    assert run_work(found.work_id, {WorkKind.SUMMARIZE: handle}, QUICK).startswith("put off")
    told = {line["event"]: line for line in lines}
    assert set(told) == {"something_happened", "work_failed", "work_done"}
    assert {line["work_id"] for line in told.values()} == {found.work_id}
    assert told["something_happened"]["tenant_id"] == str(tenant_id)
    assert "words of a user" not in str(lines)
