"""Sets of priors over HTTP: going back keeps the evaluation and names the key, and happens once."""

import re
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api.catalogs.catalog_cache import prior_sets
from tests.integration.conftest import make_key
from tests.integration.learning import (
    NAME,
    catalog_document,
    learn_now,
    put,
    shuffled,
    store_plans,
)
from tests.unit.priors.plans import TOOLS

PATH = f"/v1/catalogs/{NAME}/priors"


@pytest.fixture
def twice(tenant_id: UUID) -> UUID:
    """A tenant with a set in force, and one that it superseded."""
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(10, tools=TOOLS[:6]))
    learn_now(tenant_id)
    store_plans(tenant_id, shuffled(20, seed=2))
    assert learn_now(tenant_id).startswith("set 2 active")
    prior_sets.forget()
    return tenant_id


def listed(client: TestClient) -> dict[int, Any]:
    return {one["version"]: one for one in client.get(PATH).json()["sets"]}


def serving(client: TestClient) -> Any:
    prior_sets.forget()
    return client.post(f"/v1/catalogs/{NAME}/rank", json={"intent": "jot"}).json()["prior_set"]


@pytest.mark.usefixtures("twice")
def test_going_back_keeps_the_evaluation_and_adds_key_and_time(client: TestClient) -> None:
    before = listed(client)
    assert serving(client) == 2
    answer = client.post(f"{PATH}/rollback", json={"version": 2})
    assert (answer.status_code, answer.json()) == (200, {"in_force": 1})
    after = listed(client)
    assert {version: one["state"] for version, one in after.items()} == {1: "active", 2: "rejected"}
    assert after[2]["evaluation"] == before[2]["evaluation"]
    key_id = client.headers["Authorization"].split("_")[1]
    deed = f"{before[2]['reason']}; taken out of force over HTTP by key {key_id}, "
    assert re.fullmatch(re.escape(deed) + r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", after[2]["reason"])
    assert serving(client) == 1


@pytest.mark.usefixtures("twice")
def test_a_call_that_is_sent_twice_takes_one_set_back(client: TestClient) -> None:
    assert client.post(f"{PATH}/rollback", json={"version": 2}).status_code == 200
    again = client.post(f"{PATH}/rollback", json={"version": 2})
    assert (again.status_code, again.json()["type"], again.json()["in_force"]) == (409, "priors-conflict", 1)
    assert listed(client)[1]["state"] == "active"
    assert client.post(f"{PATH}/rollback", json={"version": 1}).json() == {"in_force": None}
    assert client.post(f"{PATH}/rollback", json={"version": 1}).status_code == 404
    assert serving(client) is None


def test_only_a_key_that_administers_goes_back(client: TestClient, twice: UUID) -> None:
    client.headers["Authorization"] = f"Bearer {make_key(twice, 'read', 'write')}"
    answer = client.post(f"{PATH}/rollback", json={"version": 2})
    assert (answer.status_code, answer.json()["scope"]) == (403, "admin")
    assert serving(client) == 2


@pytest.mark.usefixtures("twice")
@pytest.mark.parametrize("body", [{}, {"version": 0}, {"version": "2"}, {"version": 2, "more": 1}])
def test_a_body_without_a_version_changes_nothing(client: TestClient, body: Any) -> None:
    assert client.post(f"{PATH}/rollback", json=body).status_code == 422
    assert listed(client)[2]["state"] == "active"
