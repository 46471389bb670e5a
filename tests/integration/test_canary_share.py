"""The share of canaries of a tenant: set over HTTP and by command, and kept by the night."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner, Result

from afterturn.__main__ import app
from models import database as session
from models.learning.progress import set_canary_share
from models.learning.settings import LearningSettings
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.learning import catalog_document, learn_now, put, sets, shuffled, store_plans

PATH = "/v1/canary-share"
NONE = LearningSettings(learn_holdout_least=10)
HALF = LearningSettings(learn_holdout_least=10, learn_canary_share=0.5)


def wish(tenant_id: UUID, share: float | None) -> None:
    with session.transaction() as db:
        set_canary_share(Scope(db, tenant_id), share)


def spend_a_night(tenant_id: UUID, settings: LearningSettings, *, seed: int = 1) -> str:
    """Learn from plans that are better served by what they taught."""
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled(seed=seed))
    return learn_now(tenant_id, settings=settings)


def share_of(tenant_id: UUID, version: int = 1) -> float | None:
    canary = next(one.canary for one in sets(tenant_id) if one.version == version)
    return canary.share if canary else None


@pytest.mark.parametrize(
    ("own", "settings", "state", "share"),
    [
        (0.25, NONE, "canary", 0.25),
        (0.25, HALF, "canary", 0.25),
        (0.0, HALF, "active", None),
        (None, HALF, "canary", 0.5),
        (None, NONE, "active", None),
    ],
)
def test_the_night_follows_the_share_of_the_tenant_before_that_of_the_installation(
    tenant_id: UUID, own: float | None, settings: LearningSettings, state: str, share: float | None
) -> None:
    wish(tenant_id, own)
    assert spend_a_night(tenant_id, settings).startswith(f"set 1 {state}: better than words alone")
    assert share_of(tenant_id) == share


def test_a_confirmed_set_is_served_to_the_share_of_the_tenant(tenant_id: UUID) -> None:
    careful = NONE.model_copy(update={"learn_observe_first": True})
    wish(tenant_id, 0.1)
    assert spend_a_night(tenant_id, careful).startswith("set 1 observing")
    store_plans(tenant_id, shuffled(4, seed=5))
    learn_now(tenant_id, settings=careful)
    assert share_of(tenant_id) == 0.1


def test_a_running_canary_keeps_its_share(tenant_id: UUID) -> None:
    wish(tenant_id, 0.25)
    spend_a_night(tenant_id, NONE)
    wish(tenant_id, 0.0)
    store_plans(tenant_id, shuffled(20, seed=3))
    assert "waits for the end of the canary of set 1" in learn_now(tenant_id, settings=NONE)
    assert share_of(tenant_id) == 0.25


def test_the_share_of_a_tenant_is_no_other_tenants(tenant_id: UUID) -> None:
    wish(tenant_id, 0.25)
    with session.transaction() as db:
        neighbour = ensure_tenant(db, "second")
    assert spend_a_night(neighbour, NONE).startswith("set 1 active")


def told(client: TestClient) -> Any:
    return client.get(PATH).json()


def test_the_share_is_set_and_taken_back_over_http(client: TestClient, tenant_id: UUID) -> None:
    assert told(client) == {"share": 0.0, "source": "installation"}
    for share in (0.2, 0, 0.999):
        answer = client.put(PATH, json={"share": share})
        assert (answer.status_code, answer.json()) == (200, {"share": share, "source": "tenant"})
        assert told(client) == answer.json()
    for body in ({"share": 1}, {"share": -0.1}, {"share": "0.2"}, {"share": True}, {}, {"part": 0.2}):
        assert client.put(PATH, json=body).status_code == 422, body
    assert client.put(PATH, content=b'{"share": NaN}').status_code in {400, 422}
    assert told(client)["share"] == 0.999
    client.headers["Authorization"] = f"Bearer {make_key(tenant_id, 'read', 'write')}"
    assert client.put(PATH, json={"share": 0.1}).status_code == 403
    client.headers["Authorization"] = f"Bearer {make_key(tenant_id)}"
    assert client.put(PATH, json={"share": None}).json() == {"share": 0.0, "source": "installation"}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["priors", "share", *arguments, "--tenant", "first"])


def test_the_share_is_set_and_taken_back_by_command(client: TestClient, tenant_id: UUID) -> None:
    del tenant_id
    assert "takes force at once, set for the installation" in run().output
    assert "is served to 12.5% of sessions first, set for the tenant" in run("0.125").output
    assert json.loads(run("--json").output) == told(client) == {"share": 0.125, "source": "tenant"}
    for wrong in (("1",), ("-0.1",), ("nan",), ("0.2", "--none")):
        assert run(*wrong).exit_code == 2, wrong
    assert told(client)["share"] == 0.125
    assert "set for the installation" in run("--none").output
    assert "takes force at once, set for the tenant" in run("0").output
