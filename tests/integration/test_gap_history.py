"""A gap in a catalog: no warning of it where history knows what serves the request."""

from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from tests.integration.learned import learn_often

INTENT = "zork the frobnicator"
ENTRIES = ("weigh", "count", "paint", "load", "sweep", "stack")
PACKS = [{"name": name, "description": f"Does {name} for crates"} for name in ENTRIES]
USED = {INTENT: "paint", "please sweep": "sweep", "please weigh": "weigh", "please load": "load"}
WAYS = ("rank", "compact", "context")


@pytest.fixture
def depot(client: TestClient) -> TestClient:
    """A client with a stored catalog."""
    assert client.put("/v1/catalogs/depot", json={"tools": PACKS}).status_code == 200
    return client


def warning(client: TestClient, way: str, intent: str) -> str | None:
    """What a call says of the catalog for an intent."""
    body: dict[str, Any] = {"intent": intent}
    path = f"/v1/catalogs/depot/{way}"
    if way == "compact":
        body["model"] = "gpt-4o"
    if way == "context":
        path = "/v1/sessions/s1/context"
        message = {"role": "user", "content": intent}
        body = {"model": "gpt-4o", "messages": [message], "catalog": "depot"}
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    said: str | None = (found["utilization"]["tools"] if way == "context" else found)["gap_warning"]
    return said


@pytest.mark.parametrize("way", WAYS)
def test_what_served_a_request_before_is_no_gap(depot: TestClient, tenant_id: UUID, way: str) -> None:
    assert warning(depot, way, INTENT)
    learn_often(tenant_id, "depot", USED)
    assert warning(depot, way, INTENT) is None


@pytest.mark.parametrize("way", WAYS)
def test_what_history_does_not_know_is_a_gap_still(depot: TestClient, tenant_id: UUID, way: str) -> None:
    learn_often(tenant_id, "depot", USED)
    assert warning(depot, way, "compose a symphony for oboe")
