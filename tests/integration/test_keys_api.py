"""Keys over HTTP: `admin` makes, lists and ends keys of its own tenant, none stronger than itself."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api import keys
from api.settings import api_settings
from models import database as session
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.test_tenancy import rows_of


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A key that ends is refused at once."""
    monkeypatch.setenv("AFTERTURN_KEY_CACHE_S", "0")
    api_settings.cache_clear()
    yield
    monkeypatch.undo()
    api_settings.cache_clear()


def made(client: TestClient, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/keys", json={"label": "a platform", **body})
    assert answer.status_code == status, answer.text
    assert status >= 400 or answer.headers["cache-control"] == "no-store"
    found: dict[str, Any] = answer.json()
    return found


def listed(client: TestClient, **params: Any) -> list[dict[str, Any]]:
    answer = client.get("/v1/keys", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["keys"]
    return found


def use(client: TestClient, key: str) -> None:
    client.headers["Authorization"] = f"Bearer {key}"


def status_with(client: TestClient, key: str, path: str = "/v1/usage") -> int:
    return client.get(path, headers={"Authorization": f"Bearer {key}"}).status_code


def test_a_key_works_until_it_is_revoked_and_is_shown_once(client: TestClient) -> None:
    key = made(client, scopes=["read"], days=30)
    assert key["key"].split("_")[1] == key["key_id"]
    assert (key["scopes"], key["state"]) == (["read"], "in_force")
    ends_at = datetime.fromisoformat(key["expires_at"])
    assert timedelta(days=29) < ends_at - datetime.now(UTC) <= timedelta(days=30)
    assert status_with(client, key["key"]) == 200
    entry = {name: value for name, value in key.items() if name != "key"}
    assert entry in listed(client)
    secret = key["key"].split("_", 2)[2]
    assert secret not in json.dumps(listed(client))
    for _ in range(2):
        ended = client.delete(f"/v1/keys/{key['key_id']}")
        assert (ended.status_code, ended.json()["state"]) == (200, "revoked")
        assert secret not in ended.text
    assert status_with(client, key["key"]) == 401


def test_no_key_is_stored_or_logged(
    client: TestClient, tenant_id: UUID, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = made(client)["key"].split("_", 2)[2]
    refused = client.post("/v1/keys", content=json.dumps({"label": secret * 9}))
    assert refused.status_code == 422
    said = "".join(capfd.readouterr()) + caplog.text
    assert secret not in said + refused.text + json.dumps(rows_of(tenant_id))


def test_a_key_makes_no_stronger_key(client: TestClient, tenant_id: UUID) -> None:
    use(client, make_key(tenant_id, "read", "admin"))
    refused = made(client, 403, scopes=["read", "write"])
    assert (refused["type"], refused["scope"]) == ("forbidden", "write")
    assert made(client)["scopes"] == ["read", "admin"]
    assert made(client, scopes=["admin", "admin"])["scopes"] == ["admin"]
    use(client, make_key(tenant_id, "read", "write"))
    for answer in (client.get("/v1/keys"), client.post("/v1/keys", json={}), client.delete("/v1/keys/a")):
        assert (answer.status_code, answer.json()["scope"]) == (403, "admin")


def test_a_key_never_outlives_its_maker(client: TestClient, tenant_id: UUID) -> None:
    with session.transaction() as db:
        maker = create_key(Scope(db, tenant_id), label="for a day", lasts=timedelta(days=1))
    use(client, maker)
    own = next(one for one in listed(client) if one["label"] == "for a day")
    for days in (None, 30):
        child = made(client, days=days)
        assert child["expires_at"] == own["expires_at"]
        use(client, child["key"])
    use(client, make_key(tenant_id))
    assert made(client)["expires_at"] is None


def test_keys_are_listed_page_by_page(client: TestClient) -> None:
    for number in range(4):
        made(client, label=f"key {number}")
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = client.get("/v1/keys", params={"limit": 2, "cursor": cursor}).json()
        found += [one["key_id"] for one in page["keys"]]
        cursor = page["next"]
    assert found == sorted(one["key_id"] for one in listed(client))
    assert len(found) == 5


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"label": ""}, "label"),
        ({"label": "x" * 201}, "label"),
        ({}, "label"),
        ({"label": "x", "scopes": []}, "scopes"),
        ({"label": "x", "scopes": ["root"]}, "scopes[0]"),
        ({"label": "x", "days": 0}, "days"),
        ({"label": "x", "days": 10**9}, "days"),
        ({"label": "x", "key": "mine"}, "key"),
    ],
    ids=str,
)
def test_a_faulty_wish_is_refused(client: TestClient, body: dict[str, Any], field: str) -> None:
    answer = client.post("/v1/keys", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert len(listed(client)) == 1


def test_a_tenant_has_a_largest_number_of_keys_in_force(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MOST_KEYS", 3)
    second = made(client)
    made(client)
    refused = made(client, 413)
    assert (refused["field"], refused["limit"]) == ("keys", 3)
    assert client.delete(f"/v1/keys/{second['key_id']}").status_code == 200
    made(client)


def test_another_tenant_sees_and_ends_its_own_keys_alone(client: TestClient, tenant_id: UUID) -> None:
    key = made(client)
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    before = rows_of(tenant_id)
    use(client, make_key(other))
    assert [one["label"] for one in listed(client)] == ["test"]
    assert client.delete(f"/v1/keys/{key['key_id']}").status_code == 404
    theirs = made(client)
    assert rows_of(tenant_id) == before
    assert status_with(client, key["key"]) == 200
    with session.read_transaction() as db:
        query = text("select tenant_id from api_key where key_id = :key_id")
        assert db.execute(query, {"key_id": theirs["key_id"]}).scalar_one() == other


def test_a_key_may_end_itself(client: TestClient, tenant_id: UUID) -> None:
    key = make_key(tenant_id)
    use(client, key)
    assert client.delete(f"/v1/keys/{key.split('_')[1]}").status_code == 200
    assert client.get("/v1/keys").status_code == 401
