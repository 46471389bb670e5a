"""Recall across the sessions of a user: found where a tenant and a request want it, and nobody else's."""

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models import database as session
from models.recall.user import UserKey
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.recalling_users import (
    KAYAK,
    QUESTION,
    USER,
    ask,
    index,
    region,
    say,
    status,
    switch,
)
from tests.integration.sealing import Environment, tables_with_traces


@pytest.fixture
def told(tenant_id: UUID, client: TestClient) -> UUID:
    """A user told something in an earlier session."""
    switch(tenant_id)
    say(client, "before", completed_at="2026-03-14T10:00:00Z")
    index(tenant_id, ["before"])
    return tenant_id


@pytest.mark.usefixtures("told")
def test_what_a_user_said_in_another_session_is_in_the_window_with_its_session_and_date(
    client: TestClient,
) -> None:
    answer = ask(client)
    assert f"[before \u00b7 1 \u00b7 14 Mar 2026]\nuser: {KAYAK}" in region(answer)
    told = answer["utilization"]["user_recall"]
    assert told["status"] == "shown"
    assert told["tokens"] <= told["max_tokens"]
    [block] = [one for one in answer["certificate"]["blocks"] if one["source"] == "user_recall"]
    assert block == {
        "source": "user_recall",
        "tokens": told["tokens"],
        "origin": "sessions before: 1",
        "trust": "conversation",
    }
    assert answer["utilization"]["breakdown"]["user_recall"] == told["tokens"]
    assert answer["messages"][-2]["content"] == region(answer)


@pytest.mark.usefixtures("told")
def test_a_request_that_does_not_ask_for_other_sessions_gets_none(client: TestClient) -> None:
    for recall in ({}, {"scope": "session"}):
        answer = ask(client, recall=recall)
        assert region(answer) == ""
        assert "user_recall" not in answer["utilization"]


def test_a_tenant_that_did_not_switch_it_on_is_answered_that_it_is_off(
    told: UUID, client: TestClient
) -> None:
    switch(told, on=False)
    assert (status(ask(client)), region(ask(client))) == ("off", "")


@pytest.mark.usefixtures("told")
def test_a_scope_that_nobody_knows_is_a_422_that_names_it(client: TestClient) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": QUESTION}]}
    for recall in ({"scope": "tenant"}, {"scope": None}, {"range": "user"}, "user"):
        answer = client.post("/v1/sessions/now/context", json={**body, "recall": recall})
        assert answer.status_code == 422
        assert "recall" in answer.json()["detail"]


@pytest.mark.usefixtures("told")
def test_without_a_user_id_it_is_the_sessions_only_user_who_asks(client: TestClient) -> None:
    assert status(ask(client, user_id=None)) == "no-user"
    say(client, "now", "Good morning.")
    assert KAYAK in region(ask(client, user_id=None))
    say(client, "now", "Good morning, Anna.", user_id="bob")
    assert (status(ask(client, user_id=None)), region(ask(client, user_id=""))) == ("no-user", "")
    assert KAYAK in region(ask(client))


@pytest.mark.usefixtures("told")
def test_another_user_and_another_tenants_user_of_the_same_name_see_nothing(client: TestClient) -> None:
    assert status(ask(client, user_id="bob")) == "nothing-found"
    with session.transaction() as db:
        other = ensure_tenant(db, "other")
    switch(other)
    client.headers["Authorization"] = f"Bearer {make_key(other)}"
    assert (status(ask(client)), region(ask(client))) == ("nothing-found", "")


def test_of_a_session_of_several_users_each_sees_the_turns_that_name_him(
    tenant_id: UUID, client: TestClient
) -> None:
    switch(tenant_id)
    say(client, "group")
    say(client, "group", "The green spare kayak hangs in the hall.", user_id="bob")
    say(client, "group", "The spare kayak that hangs there is nobody's.", user_id=None)
    index(tenant_id, ["group"])
    anna, bob = region(ask(client)), region(ask(client, user_id="bob"))
    assert (KAYAK in anna, "green" in anna, "nobody" in anna) == (True, False, False)
    assert (KAYAK in bob, "green" in bob, "nobody" in bob) == (False, True, False)


def test_keys_that_meet_by_chance_show_nobody_anothers_words(told: UUID, client: TestClient) -> None:
    """Half of a key is a hash of 32 bits: what the user's turn does not name is not shown all the same."""
    own, bobs = UserKey(told, USER).halves, UserKey(told, "bob").halves
    moved = {str(half): bobs[sample] << 32 for sample, half in own.items()}
    with session.transaction() as db:
        db.execute(
            text(
                "update recall_passage set user_keys = array(select key & 4294967295 | "
                "coalesce((cast(:moved as jsonb) ->> (key >> 32)::text)::bigint, key >> 32 << 32) "
                "from unnest(user_keys) key)"
            ),
            {"moved": json.dumps(moved)},
        )
    assert status(ask(client, user_id="bob")) == "nothing-found"


@pytest.mark.usefixtures("told")
def test_a_user_with_one_session_and_one_who_is_unknown_find_nothing(client: TestClient) -> None:
    assert status(ask(client, "before")) == "nothing-found"
    assert status(ask(client, user_id="who is that?")) == "nothing-found"
    assert status(ask(client, question="Hello!")) == "skipped"


def test_a_session_that_was_reset_is_found_no_more(told: UUID, client: TestClient) -> None:
    assert client.post("/v1/sessions/before/reset").status_code == 200
    assert status(ask(client)) == "nothing-found"
    say(client, "before", "The spare kayak hangs nowhere: it was sold.")
    index(told, ["before"])
    assert "sold" in region(ask(client))


@pytest.mark.parametrize("path", ["sessions/before/messages/1", "sessions/before", f"users/{USER}"])
@pytest.mark.usefixtures("told")
def test_what_is_erased_is_found_by_no_later_read(client: TestClient, path: str) -> None:
    assert KAYAK in region(ask(client))
    receipt = client.delete(f"/v1/{path}").json()
    assert receipt["invalidated"]["recall_passage"] >= 1 or receipt["removed"]["recall_passage"] >= 1
    answer = ask(client)
    assert (status(answer), region(answer)) == ("nothing-found", "")
    assert "kayak" not in str(answer["messages"][:-1])


@pytest.mark.usefixtures("told")
def test_reads_during_an_erasure_show_the_words_or_say_that_there_are_none(client: TestClient) -> None:
    with ThreadPoolExecutor(2) as pool:
        reads = [pool.submit(ask, client) for _ in range(8)]
        assert client.delete(f"/v1/users/{USER}").status_code == 200
        after = ask(client)
    seen = {(status(read.result()), KAYAK in region(read.result())) for read in reads}
    assert seen <= {("shown", True), ("nothing-found", False)}
    assert (status(after), region(after)) == ("nothing-found", "")


def test_edited_words_are_found_in_place_of_the_old_ones(told: UUID, client: TestClient) -> None:
    said = {"message": {"role": "user", "content": "The spare kayak hangs in the cellar."}}
    assert client.patch("/v1/sessions/before/messages/1", json=said).status_code == 200
    assert region(ask(client)) == ""
    index(told, ["before"])
    assert "cellar" in region(ask(client))


def test_sealed_words_are_found_and_stand_nowhere(
    tenant_id: UUID, client: TestClient, keys: Environment
) -> None:
    switch(tenant_id)
    say(client, "before", "The zqxkayak hangs behind the boathouse.")
    index(tenant_id, ["before"])
    assert tables_with_traces("zqxkayak") == set()
    assert "boathouse" in region(ask(client, question="Where does the zqxkayak hang?"))
    keys.use()
    assert status(ask(client, question="Where does the zqxkayak hang?")) in {"search-failed", "nothing-found"}


def test_sessions_from_before_and_after_a_key_are_found_alike(
    told: UUID, client: TestClient, keys: Environment
) -> None:
    del keys
    say(client, "sealed", "The green spare kayak hangs there too.")
    index(told, ["sealed"])
    shown = region(ask(client))
    assert KAYAK in shown
    assert "green" in shown


@pytest.mark.usefixtures("told")
def test_a_budget_of_any_size_has_a_stated_answer(client: TestClient) -> None:
    body = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": QUESTION}],
        "recall": {"scope": "user"},
        "user_id": USER,
    }
    for budget in (1, 20, 30, 60, 90, 120, 1_000):
        answer = client.post("/v1/sessions/now/context", json={**body, "budget": budget})
        assert answer.status_code in {200, 422}
        if answer.status_code == 422:
            assert answer.json()["type"].endswith("context-over-budget")
            continue
        told = answer.json()["utilization"]["user_recall"]
        assert told["tokens"] <= told["max_tokens"] <= budget
        assert told["status"] in {"shown", "does-not-fit"}


@pytest.mark.usefixtures("told")
def test_a_smaller_window_after_a_refusal_recalls_other_sessions_too(client: TestClient) -> None:
    for number in range(6):
        say(client, "now", f"Pallet {number} is wet. " * 60)
    body = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": QUESTION}],
        "recall": {"scope": "user"},
        "user_id": USER,
        "observed_limit": 2_000,
        "max_tokens": 200,
    }
    answer = client.post("/v1/sessions/now/compress", json=body)
    assert answer.status_code == 200, answer.text
    assert KAYAK in region(answer.json())
