"""What callers are told while the database is in trouble: when to come again, and what became of the call."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count as numbers
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Engine, event, text

from models import database as session
from models.database_settings import database_settings
from tests.integration.store_faults import Fault, When
from tests.integration.test_lifecycle import postgres_says
from tests.integration.test_tries import TOOLS, TURN, count, meeting

NAMED = {"Idempotency-Key": "reset-1"}
PLAN = {"intent": "weigh the crate", "catalog": "c", "model": "extractive"}


@contextmanager
def read_only(engine: Engine) -> Iterator[None]:
    """A database whose connections take no changes; those that are open are closed first."""
    pools = [engine, session._reading_engine(os.getpid(), database_settings().database_url, "")]

    def switch(change: str) -> None:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
            name = db.execute(text("select current_database()")).scalar_one()
            db.execute(text("set default_transaction_read_only = off"))
            db.execute(text(f'alter database "{name}" {change}'))
        for pool in pools:
            pool.dispose()

    switch("set default_transaction_read_only = on")
    try:
        yield
    finally:
        switch("reset default_transaction_read_only")


def test_a_read_only_database_refuses_turns_for_a_while_and_answers_reads(
    client: TestClient, empty_db: Engine
) -> None:
    assert client.post("/v1/sessions/s1/turns", json=TURN).status_code == 202
    assert client.get("/readyz").status_code == 200
    with read_only(empty_db):
        refused: Any = client.post("/v1/sessions/s2/turns", json=TURN)
        asked = {"model": "gpt-4o", "max_tokens": 200, "messages": [{"role": "user", "content": "hi"}]}
        read = client.post("/v1/sessions/s1/context", json=asked)
        ready = client.get("/readyz")
    assert (refused.status_code, refused.json()["type"]) == (503, "unavailable")
    assert int(refused.headers["Retry-After"]) >= 1
    assert refused.json()["outcome"] == "none"
    assert "takes no changes now" in refused.json()["detail"]
    assert read.status_code == 200, read.text
    assert (ready.status_code, ready.json()["checks"]["writable"]) == (
        503,
        "the database takes no changes now",
    )
    assert client.post("/v1/sessions/s2/turns", json=TURN).status_code == 202
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("code", "status", "why"),
    [
        ("25006", 503, "takes no changes now"),
        ("25P03", 503, "does not answer"),
        ("53100", 503, "no room left"),
        ("53300", 503, "no room left"),
        ("57014", 503, "too slow"),
        ("57P03", 503, "does not answer"),
        ("58030", 503, "the disk"),
        ("08006", 503, "does not answer"),
        ("23503", 503, "others held"),
        ("XX001", 503, "the disk"),
        ("42P01", 500, "a fault of ours"),
        ("22003", 500, "a fault of ours"),
        ("XX000", 500, "a fault of ours"),
    ],
)
def test_the_same_table_answers_callers(client: TestClient, code: str, status: int, why: str) -> None:
    with meeting("turn", times=99, code=code):
        answer: Any = client.post("/v1/sessions/s1/turns", json=TURN)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert why in answer.json()["detail"]
    assert "nothing was changed" in answer.json()["detail"]
    assert answer.json()["outcome"] == "none"
    assert ("Retry-After" in answer.headers) == (status == 503)


@pytest.mark.parametrize(("when", "stored"), [(When.BEFORE, 0), (When.AFTER, 1)])
def test_a_lost_answer_to_a_commit_is_told_as_what_it_is(client: TestClient, when: When, stored: int) -> None:
    fault = Fault(1, when)
    with fault.strikes():
        answer: Any = client.post("/v1/sessions/s1/turns", json=TURN)
    assert answer.status_code == 503
    assert answer.json()["outcome"] == "unknown"
    assert "whether it was done is unknown" in answer.json()["detail"]
    assert "nothing was changed" not in answer.json()["detail"]
    assert count("turn") == stored
    assert client.post("/v1/sessions/s1/turns", json=TURN).json()["duplicate"] is bool(stored)


@contextmanager
def no_room_from(number: int) -> Iterator[None]:
    """Refuse transactions from so many on."""
    begun = numbers(1)

    def refuse(_db: Connection) -> None:
        if next(begun) >= number:
            raise postgres_says("53100")

    event.listen(session.engine(), "begin", refuse)
    yield
    event.remove(session.engine(), "begin", refuse)


@pytest.mark.parametrize(
    ("number", "outcome", "why"), [(1, "none", "nothing was"), (2, "part", "a part of it")]
)
def test_what_was_done_before_a_fault_is_told(
    client: TestClient, number: int, outcome: str, why: str
) -> None:
    for name in ("s1", "s2"):
        assert client.post(f"/v1/sessions/{name}/turns", json={**TURN, "user_id": "u1"}).status_code == 202
    with no_room_from(number):
        answer: Any = client.delete("/v1/users/u1")
    assert (answer.status_code, answer.json()["outcome"]) == (503, outcome)
    assert why in answer.json()["detail"]
    assert count("session") == 3 - number
    assert client.delete("/v1/users/u1").json()["remaining_sessions"] == 0


@pytest.mark.parametrize("when", When)
def test_a_reset_that_is_sent_again_with_its_key_resets_once(client: TestClient, when: When) -> None:
    assert client.post("/v1/sessions/s1/turns", json=TURN).status_code == 202
    with Fault(1, when).strikes():
        lost = client.post("/v1/sessions/s1/reset", headers=NAMED)
    assert (lost.status_code, lost.json()["outcome"]) == (503, "unknown")
    again = client.post("/v1/sessions/s1/reset", headers=NAMED).json()
    assert (again["generation"], again.get("repeated", False)) == (2, when is When.AFTER)
    third = client.post("/v1/sessions/s1/reset", headers=NAMED).json()
    assert third == {"session_id": "s1", "generation": 2, "starts_after": 2, "repeated": True}


def test_another_key_another_session_and_no_key_reset_again(client: TestClient) -> None:
    for name in ("s1", "s2"):
        assert client.post(f"/v1/sessions/{name}/turns", json=TURN).status_code == 202
    keys = [NAMED, {"Idempotency-Key": "reset-2"}, NAMED, {}, {}]
    generations = [client.post("/v1/sessions/s1/reset", headers=key).json()["generation"] for key in keys]
    assert generations == [2, 3, 3, 4, 5]
    assert client.post("/v1/sessions/s2/reset", headers=NAMED).json()["generation"] == 2


@pytest.mark.parametrize(("chars", "status"), [(0, 422), (1, 200), (255, 200), (256, 422)])
def test_a_key_has_a_length(client: TestClient, chars: int, status: int) -> None:
    assert client.post("/v1/sessions/s1/turns", json=TURN).status_code == 202
    headers = {"Idempotency-Key": "k" * chars}
    assert client.post("/v1/sessions/s1/reset", headers=headers).status_code == status


def test_a_session_that_is_not_there_has_no_reset_to_repeat(client: TestClient) -> None:
    assert client.post("/v1/sessions/none/reset", headers=NAMED).status_code == 404


def test_a_plan_that_is_asked_for_again_with_its_key_is_made_once(client: TestClient) -> None:
    assert client.put("/v1/catalogs/c", json=TOOLS).status_code == 200
    ids = [
        client.post("/v1/plans", json=PLAN, headers=headers).json()["plan_id"]
        for headers in (NAMED, NAMED, {"Idempotency-Key": "other"}, {})
    ]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert count("plan_history") == 3
