"""What was learned, over HTTP: the ranking that it changes, and what the answer says of it."""

import json
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.catalogs.catalog_cache import prior_sets
from models import database as session
from models.learning.prior_set import roll_back
from tests.integration.learning import NAME, catalog_document, learn_now, place, put, shuffled, store_plans
from tests.unit.priors.plans import TOOLS


def rank(client: TestClient, intent: str, **fields: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/catalogs/{NAME}/rank", json={"intent": intent, **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
def learned(tenant_id: UUID) -> UUID:
    """A tenant whose plans have taught."""
    put(tenant_id, catalog_document())
    store_plans(tenant_id, shuffled())
    learn_now(tenant_id)
    prior_sets.forget()
    return tenant_id


@pytest.mark.usefixtures("learned")
def test_a_ranking_says_which_set_it_was_made_with(client: TestClient) -> None:
    found = rank(client, "jot down a draft", top_n=3)
    assert found["prior_set"] == 1
    assert found["entries"][0]["id"] == "notes"
    assert found["entries"][0]["prior"] > 0


@pytest.mark.usefixtures("learned")
def test_an_explained_ranking_says_what_history_spoke_for(client: TestClient) -> None:
    reasons = rank(client, "jot down a draft", explain=True)["entries"][0]["reasons"]
    assert any("chosen before for" in reason for reason in reasons)
    assert any("did its work" in reason for reason in reasons)


def test_without_a_set_words_alone_rank(client: TestClient, tenant_id: UUID) -> None:
    put(tenant_id, catalog_document())
    found = rank(client, "jot down a draft")
    assert found["prior_set"] is None
    assert all(entry["prior"] == 0 for entry in found["entries"])


def test_a_set_that_is_taken_back_ranks_no_more(client: TestClient, learned: UUID) -> None:
    rank(client, "jot down a draft")
    with session.transaction() as db:
        roll_back(db, place(learned), reason="by hand")
    prior_sets.forget()
    assert rank(client, "jot down a draft")["prior_set"] is None


@pytest.mark.usefixtures("learned")
def test_a_damaged_set_costs_the_priors_and_not_the_answer(client: TestClient) -> None:
    with session.transaction() as db:
        db.execute(text("update prior_set set blob = 'garbage', version = 7"))
    prior_sets.forget()
    assert rank(client, "jot down a draft")["prior_set"] is None


def test_a_tool_that_was_added_today_is_found_by_its_words(client: TestClient, learned: UUID) -> None:
    document = catalog_document()
    document["tools"].append({"name": "umbrella_stand", "description": "Draft of an umbrella stand"})
    put(learned, document)
    ids = [entry["id"] for entry in rank(client, "draft an umbrella stand", top_n=3)["entries"]]
    assert "umbrella_stand" in ids


@pytest.mark.usefixtures("learned")
def test_a_compacted_catalog_keeps_what_history_speaks_for(client: TestClient, tenant_id: UUID) -> None:
    others = [f"other{number}" for number in range(400)]
    put(tenant_id, catalog_document(tools=[*others, *TOOLS]))
    body = {"model": "unknown/model", "intent": "tuesday reminder"}
    answer = client.post(f"/v1/catalogs/{NAME}/compact", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["compaction"]["hidden"] > 0
    assert "calendar" in json.dumps(answer.json()["catalog"])
    assert "other399" not in json.dumps(answer.json()["catalog"])
