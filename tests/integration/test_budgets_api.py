"""The table of budgets over HTTP: every kind of model, a tenant's own overrides, one named model."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.catalogs import budgets as budgets_api
from context.providers.profiles import ModelPrice, ProfileOverride, Tier
from models import database as session
from models.catalogs.model_profile import import_prices, set_override
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key

PATH = "/v1/context-budgets"


@pytest.fixture(autouse=True)
def _no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles that no other test has read."""
    monkeypatch.setattr(budgets_api, "profiles", budgets_api.ProfileCache())


def read(client: TestClient, **query: str) -> dict[str, Any]:
    answer = client.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def budget(answer: dict[str, Any], model: str) -> dict[str, Any]:
    [found] = [each for each in answer["budgets"] if each["model"] == model]
    return found  # type: ignore[no-any-return]


def test_every_kind_of_model_has_its_budget_and_the_policy_says_how_to_read_them(client: TestClient) -> None:
    answer = read(client)
    names = ("tier", "input_tokens", "output_tokens", "catalog_bytes", "top_n")
    haiku = budget(answer, "anthropic/claude-haiku-")
    assert [haiku[name] for name in names] == ["A", 196_000, 4_000, 0, None]
    other = budget(answer, "*")
    assert [other[name] for name in names] == ["C", 16_000, 1_500, 10_000, 12]
    assert "unknown model falls back to tier C (16,000 tokens in, 1,500 out)" in answer["policy"]


def test_a_tenants_override_is_in_its_own_table_only(client: TestClient, tenant_id: UUID) -> None:
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        set_override(scope, ProfileOverride("openai/gpt-4o", tier=Tier.B))
        set_override(scope, ProfileOverride("my-model", input_tokens=5_000, input_usd=Decimal("0.5")))
        other = ensure_tenant(db, "second")
    answer = read(client)
    assert budget(answer, "openai/gpt-4o")["tier"] == "B"
    assert [budget(answer, "my-model")[name] for name in ("tier", "input_tokens", "input_usd")] == [
        "C",
        5_000,
        0.5,
    ]
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert budget(read(client), "openai/gpt-4o")["tier"] == "A"


def test_one_named_model_is_resolved_at_its_host(client: TestClient) -> None:
    resolved = read(client, model="bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0")["resolved"]
    assert (resolved["profile"], resolved["tier"]) == ("anthropic/claude-haiku-", "A")
    assert read(client, model="never-heard-of")["resolved"]["profile"] == "*"
    assert "resolved" not in read(client)


def test_a_price_that_nobody_knows_is_null(client: TestClient) -> None:
    assert read(client, model="nobody/knows-it")["resolved"]["input_usd"] is None
    assert budget(read(client), "openai/gpt-oss-")["input_usd"] is None
    assert read(client, model="extractive")["resolved"]["input_usd"] == 0


def test_what_a_model_costs_is_in_the_table(client: TestClient) -> None:
    priced = budget(read(client), "openai/gpt-4o")
    assert [priced[name] for name in ("input_usd", "output_usd", "cached_usd")] == [2.5, 10, 1.25]
    with session.transaction() as db:
        import_prices(db, [ModelPrice("openai/gpt-4o", Decimal(3), Decimal(4))])
    try:
        assert budget(read(client), "openai/gpt-4o")["input_usd"] == 3
    finally:
        with session.transaction() as db:
            db.execute(text("delete from model_price where model = 'openai/gpt-4o'"))


def test_an_unknown_question_is_refused(client: TestClient) -> None:
    assert client.get(PATH, params={"modle": "x"}).json()["field"] == "modle"
    client.headers["Authorization"] = ""
    assert client.get(PATH).status_code == 401
