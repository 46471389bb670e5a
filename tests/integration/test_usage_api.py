"""`GET /v1/usage`: what models cost a tenant, unknown prices named, nobody else's calls."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from models.database import transaction
from models.ledger.call import Reservation, Settlement, reserve, settle
from models.ledger.caps import Caps
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.test_ledger import USED

pytestmark = pytest.mark.usefixtures("one_day")


def make_call(tenant: UUID, *, end: Settlement = USED, purpose: str = "summarize") -> None:
    now = datetime.now(UTC)
    wanted = Reservation(tenant, purpose, "m", 100, Decimal("0.01"), session_id="s")
    with transaction() as db:
        settle(Scope(db, tenant), reserve(db, wanted, caps=Caps(), now=now), end, now=now)


def usage(client: TestClient, **days: str) -> dict[str, Any]:
    answer = client.get("/v1/usage", params=days)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_calls_are_summed_by_day_purpose_and_model(client: TestClient, tenant_id: UUID) -> None:
    for purpose in ("summarize", "summarize", "plan"):
        make_call(tenant_id, purpose=purpose)
    found = usage(client)
    assert [(row["purpose"], row["model"], row["calls"]) for row in found["usage"]] == [
        ("plan", "m", 1),
        ("summarize", "m", 2),
    ]
    assert found["total"]["input_tokens"] == 240
    assert found["total"]["known_price_usd"] == pytest.approx(0.006)


def test_an_unknown_price_is_unknown_and_not_nothing(client: TestClient, tenant_id: UUID) -> None:
    make_call(tenant_id, end=replace(USED, price_usd=None))
    (row,) = usage(client)["usage"]
    assert row["price_usd"] is None
    assert row["unpriced_calls"] == 1


def test_what_is_left_of_a_cap_is_told(client: TestClient, tenant_id: UUID) -> None:
    make_call(tenant_id)
    tokens, _ = usage(client)["caps"]["tenant"]
    assert tokens["charged_today"] == 90
    assert tokens["left"] == tokens["cap_per_day"] - 90


def test_another_tenants_calls_are_not_told(client: TestClient) -> None:
    with transaction() as db:
        other = ensure_tenant(db, "somebody-else")
    make_call(other)
    assert usage(client)["usage"] == []


def test_days_outside_the_range_are_left_out(client: TestClient, tenant_id: UUID) -> None:
    make_call(tenant_id)
    before = (datetime.now(UTC).date() - timedelta(days=1)).isoformat()
    assert usage(client, to=before)["usage"] == []


@pytest.mark.parametrize(
    ("days", "status"),
    [
        ({"from": "2026-01-01", "to": "2026-01-01"}, 200),
        ({"from": "2025-01-01", "to": "2026-02-04"}, 200),
        ({"from": "2025-01-01", "to": "2026-02-05"}, 422),
        ({"from": "2026-01-02", "to": "2026-01-01"}, 422),
        ({"to": "0001-01-02"}, 200),
        ({"to": "9999-12-31"}, 200),
        ({"from": "yesterday"}, 422),
        ({"since": "2026-01-01"}, 422),
    ],
)
def test_a_range_has_a_day_at_least_and_400_at_most(
    client: TestClient, days: dict[str, str], status: int
) -> None:
    assert client.get("/v1/usage", params=days).status_code == status


@pytest.mark.parametrize(
    "day", ["20261101", "2026-02-30", "2026-11-01T00:00:00Z", "1764288000", "-1", "1e400", "", "2026-11-1"]
)
def test_what_is_no_day_is_refused_in_words(client: TestClient, day: str) -> None:
    answer = client.get("/v1/usage", params={"from": day})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "from: must be a day, such as 2026-01-31"
