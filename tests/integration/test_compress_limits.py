"""What a refusal teaches: the real limit, for later reads of the same tenant and model."""

from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from tests.integration.conftest import make_key
from tests.integration.refusing import ASK, LIMIT, OVERFLOW, compress, count, read, row, send, talk


def test_the_limit_in_the_error_is_learned_and_the_answer_stays_well_below_it(client: TestClient) -> None:
    talk(client, 20)
    after = compress(client, error=OVERFLOW)
    certificate = after["certificate"]
    assert certificate["context_window"] == LIMIT
    assert certificate["input_tokens"] <= (LIMIT - 500) * 0.9
    assert after["utilization"]["limits"] == {
        "asked": 16_000,
        "learned": LIMIT,
        "in_force": LIMIT,
        "history": None,
    }


def test_an_error_that_is_text_is_read_as_well(client: TestClient) -> None:
    talk(client, 8)
    said = "prompt is too long: 5000 tokens > 4000 maximum"
    assert compress(client, error=said)["certificate"]["context_window"] == 4_000


def test_later_reads_of_the_session_obey_the_limit_that_it_saw_and_those_of_others_do_not(
    client: TestClient,
) -> None:
    talk(client, 20)
    talk(client, 20, session_id="s2")
    compress(client, error=OVERFLOW)
    later = read(client)
    assert later["certificate"]["context_window"] == LIMIT
    assert later["utilization"]["limits"]["learned"] == LIMIT
    for other in (
        read(client, session_id="s2"),
        read(client, session_id="never"),
        read(client, model="gpt-4o-mini"),
    ):
        assert other["certificate"]["context_window"] == 16_000
        assert other["utilization"]["limits"] == {
            "asked": 16_000,
            "learned": None,
            "in_force": 16_000,
            "history": None,
        }


def seen_by_users(client: TestClient, *users: str, limit: int) -> None:
    """Have a session of each user refused at a limit."""
    for number, user in enumerate(users):
        body = {
            "turn_id": "t",
            "user_id": user,
            "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Yes?"}],
        }
        assert client.post(f"/v1/sessions/of-{user}-{number}/turns", json=body).status_code == 202
        compress(client, session_id=f"of-{user}-{number}", observed_limit=limit)


def test_what_three_users_see_holds_for_all_but_never_below_half_of_the_known_window(
    client: TestClient,
) -> None:
    big = {"context_window": 128_000}
    seen_by_users(client, "ann", "ann", "bob", limit=2_000)
    assert read(client, session_id="other", **big)["certificate"]["context_window"] == 128_000
    seen_by_users(client, "cyd", limit=2_000)
    assert read(client, session_id="other", **big)["certificate"]["context_window"] == 64_000
    assert read(client, session_id="of-ann-1")["certificate"]["context_window"] == 2_000


def report(client: TestClient, session_id: str, tokens: int) -> None:
    body = {
        "turn_id": f"used {tokens}",
        "model": "gpt-4o",
        "usage": {"prompt_tokens": tokens, "completion_tokens": 10},
        "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Yes?"}],
    }
    assert client.post(f"/v1/sessions/{session_id}/turns", json=body).status_code == 202


def test_a_larger_call_that_succeeded_raises_the_limit(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    report(client, "s1", LIMIT)
    assert read(client)["certificate"]["context_window"] == LIMIT
    report(client, "s1", LIMIT + 1)
    assert read(client)["certificate"]["context_window"] == 16_000


def test_a_larger_call_of_another_session_raises_what_holds_for_all(client: TestClient) -> None:
    seen_by_users(client, "ann", "bob", "cyd", limit=2_000)
    report(client, "other", 100_000)
    assert read(client, session_id="next", context_window=128_000)["certificate"]["context_window"] == 128_000


def test_what_a_stranger_reports_leaves_the_limits_of_others(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    report(client, "strange", 10_000_000)
    assert read(client)["certificate"]["context_window"] == LIMIT


def test_one_key_of_several_that_names_three_users_sets_nothing_for_all(
    client: TestClient, tenant_id: UUID
) -> None:
    make_key(tenant_id)
    seen_by_users(client, "ann", "bob", "cyd", limit=2_000)
    other = read(client, session_id="other", context_window=128_000)
    assert other["certificate"]["context_window"] == 128_000
    assert read(client, session_id="of-ann-0")["certificate"]["context_window"] == 2_000


def test_other_names_of_a_model_have_its_limit(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    for name in ("openai/gpt-4o", "gpt-4o-2024-08-06"):
        assert read(client, model=name)["certificate"]["context_window"] == LIMIT


def test_a_refused_call_teaches_nothing(client: TestClient) -> None:
    talk(client, 2)
    refused = send(client, observed_limit=600, system_prompt="A rule for you. " * 400)
    assert refused.status_code == 422
    assert count("select count(*) from limit_sighting") == 0
    assert read(client)["utilization"]["limits"]["learned"] is None


@pytest.mark.parametrize("kind", ["rate-limit", "auth"])
def test_a_refusal_for_another_reason_makes_the_window_smaller_once_and_teaches_nothing(
    client: TestClient, kind: str
) -> None:
    talk(client, 20)
    after = compress(client, error=NO_OVERFLOW[kind], observed_limit=5_000)
    assert after["certificate"]["context_window"] == 5_000
    assert read(client)["certificate"]["context_window"] == 16_000


def test_the_window_that_the_caller_named_is_remembered_and_not_the_learned_one(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    read(client)
    assert row(tenant_id).context_window == 16_000


def test_the_limits_in_force_are_shown(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    answer = client.get("/v1/limits", params={"model": "gpt-4o"}).json()
    (shown,) = answer["limits"]
    assert (shown["model"], shown["limit_tokens"], shown["source"], shown["session_id"]) == (
        *("gpt-4o", LIMIT, "error", "s1"),
    )
    assert shown["expires_at"] > shown["seen_at"]
    assert client.get("/v1/limits", params={"model": "other"}).json()["limits"] == []


def test_an_erased_session_leaves_no_sighting(client: TestClient) -> None:
    talk(client, 8)
    compress(client, error=OVERFLOW)
    receipt = client.delete("/v1/sessions/s1").json()
    assert receipt["invalidated"]["limit_sighting"] == 1
    assert count("select count(*) from limit_sighting") == 0


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
    assert count("select count(*) from limit_sighting") == 0


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
    assert after["utilization"]["assumed"] == ["max_tokens"]
    assert after["utilization"]["limits"] == {
        "asked": 128_000,
        "learned": LIMIT,
        "in_force": LIMIT,
        "history": None,
    }


def test_a_number_too_small_for_a_window_is_not_learned(client: TestClient) -> None:
    talk(client, 8)
    said = "This model's maximum context length is 7 tokens."
    assert compress(client, error=said)["utilization"]["limits"]["learned"] is None


ABSURD = (99_999_999_999_999_999_999, "9" * 5_000)
ELSEWHERE = "This model's maximum context length is {} tokens. However, you requested 130000 tokens."


@pytest.mark.parametrize("absurd", ABSURD, ids=["twenty digits", "five thousand digits"])
def test_an_error_of_a_window_larger_than_any_is_treated_like_one_of_a_far_larger_window(
    client: TestClient, tenant_id: UUID, absurd: object
) -> None:
    talk(client, 8)
    answer = send(client, error=ELSEWHERE.format(absurd)).json()
    assert (answer["status"], answer["type"], answer["field"]) == (422, "not-this-window", "error")
    assert row(tenant_id).cut_seq == 0
    unnamed = send(client, error=ELSEWHERE.format(absurd), context_window=None).json()
    assert unnamed["type"] == "not-this-window", "the model's usual window counts where none is named"
    assert row(tenant_id).cut_seq == 0


def test_an_error_of_a_far_larger_window_tells_of_another_request_and_changes_nothing(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, 8)
    for told in ({"error": ELSEWHERE.format(32_000)}, {"observed_limit": 32_000}):
        answer = send(client, **told).json()
        assert (answer["status"], answer["type"], answer["field"]) == (422, "not-this-window", *told)
        assert (answer["limit_tokens"], answer["context_window"]) == (32_000, 16_000)
    assert row(tenant_id).cut_seq == 0
    assert count("select count(*) from limit_sighting") == 0


def test_a_somewhat_larger_one_or_an_observed_limit_beside_it_is_taken_at_its_word(
    client: TestClient, tenant_id: UUID
) -> None:
    talk(client, 8)
    compress(client, error=ELSEWHERE.format(31_999))
    assert row(tenant_id).cut_seq == 8
    compress(client, error=ELSEWHERE.format(128_000), observed_limit=8_000)
    assert row(tenant_id).cut_seq == 12
