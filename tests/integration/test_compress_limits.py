"""What a refusal teaches: the real limit, for later reads of the same tenant and model."""

from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import session
from tests.integration.conftest import make_key
from tests.integration.refusing import ASK, LIMIT, OVERFLOW, compress, count, read, row, send, talk


def test_the_limit_in_the_error_is_learned_and_the_answer_stays_well_below_it(client: TestClient) -> None:
    talk(client, 20)
    after = compress(client, error=OVERFLOW)
    certificate = after["certificate"]
    assert certificate["context_window"] == LIMIT
    assert certificate["input_tokens"] <= (LIMIT - 500) * 0.9
    assert after["utilization"]["limits"] == {"asked": 16_000, "learned": LIMIT, "in_force": LIMIT}


def test_an_error_that_is_text_is_read_as_well(client: TestClient) -> None:
    talk(client, 8)
    said = "prompt is too long: 5000 tokens > 4000 maximum"
    assert compress(client, error=said)["certificate"]["context_window"] == 4_000


def test_every_later_read_of_the_tenant_and_model_obeys_the_learned_limit(client: TestClient) -> None:
    talk(client, 20)
    talk(client, 20, session_id="s2")
    compress(client, error=OVERFLOW)
    for session_id in ("s1", "s2", "never"):
        later = read(client, session_id=session_id)
        assert later["certificate"]["context_window"] == LIMIT
        assert later["utilization"]["limits"]["learned"] == LIMIT
    other = read(client, session_id="s2", model="gpt-4o-mini")
    assert other["certificate"]["context_window"] == 16_000
    assert other["utilization"]["limits"] == {"asked": 16_000, "learned": None, "in_force": 16_000}


def test_a_smaller_window_that_is_asked_for_stays_smaller(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    assert read(client, context_window=2_000)["certificate"]["context_window"] == 2_000


def test_a_limit_learned_for_one_tenant_is_not_another_ones(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    with session.transaction() as db:
        db.execute(text("insert into tenant (name) values ('other')"))
        other: UUID = db.execute(text("select tenant_id from tenant where name = 'other'")).scalar_one()
    answer = client.post(
        "/v1/sessions/s1/context", json=ASK, headers={"Authorization": f"Bearer {make_key(other)}"}
    )
    assert answer.json()["certificate"]["context_window"] == 16_000


def test_an_output_limit_beyond_the_learned_window_is_refused_with_both_numbers(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    answer = client.post("/v1/sessions/s1/context", json={**ASK, "max_tokens": 5_000})
    assert answer.status_code == 422
    assert answer.json()["context_window"] == LIMIT
    assert "real window" in answer.json()["detail"]


NO_OVERFLOW = {
    "rate-limit": {
        "error": {"message": "Rate limit reached for requests. Please try again in 20s.", "code": 429}
    },
    "auth": {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}},
    "unknown": {"error": {"message": "the cat sat on the cable"}},
}


@pytest.mark.parametrize("kind", NO_OVERFLOW)
def test_an_error_that_is_no_overflow_changes_nothing_and_is_named(
    client: TestClient, tenant_id: UUID, kind: str
) -> None:
    talk(client, 8)
    answer = send(client, error=NO_OVERFLOW[kind])
    assert answer.status_code == 422
    assert answer.json()["type"] == "not-an-overflow"
    assert answer.json()["classified_as"] == kind
    assert row(tenant_id).cut_seq == 0
    assert count("select count(*) from model_limit") == 0


def test_a_limit_that_the_platform_observed_needs_no_error_that_says_so(client: TestClient) -> None:
    talk(client, 20)
    after = compress(client, error=NO_OVERFLOW["unknown"], observed_limit=5_000)
    assert after["certificate"]["context_window"] == 5_000


def test_of_two_limits_the_lower_one_is_learned(client: TestClient) -> None:
    talk(client, 20)
    assert compress(client, error=OVERFLOW, observed_limit=5_000)["certificate"]["context_window"] == LIMIT


def test_a_window_that_nobody_named_is_the_learned_one_and_the_answer_says_so(client: TestClient) -> None:
    talk(client, 8)
    after = compress(client, error=OVERFLOW, context_window=None, max_tokens=None)
    assert after["certificate"]["context_window"] == LIMIT
    assert after["utilization"]["assumed"] == ["context_window", "max_tokens"]
    assert after["utilization"]["limits"] == {"asked": None, "learned": LIMIT, "in_force": LIMIT}


def test_a_number_too_small_for_a_window_is_not_learned(client: TestClient) -> None:
    talk(client, 8)
    said = "This model's maximum context length is 7 tokens."
    assert compress(client, error=said)["utilization"]["limits"]["learned"] is None
