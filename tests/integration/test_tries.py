"""Two calls meet in the database and one of them loses: that one is done again, and nobody hears of it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models.database import read_transaction, transaction
from tests.integration.summarizing import dialogue
from tests.waiting import wait_until

TURN = {"turn_id": "t1", "messages": dialogue(1)}

MEETING = """
create sequence meetings;
create function meet() returns trigger language plpgsql as $$ begin
    if nextval('meetings') <= {times} then
        raise exception 'met another' using errcode = '{code}';
    end if;
    return new;
end $$;
create trigger meet before insert or update on {table} for each row execute function meet()
"""


@contextmanager
def meeting(table: str, *, times: int, code: str = "40P01") -> Iterator[None]:
    """Let the database end the first so many statements on a table, as it ends one of a deadlock."""
    with transaction() as db:
        db.execute(text(MEETING.format(table=table, times=times, code=code)))
    try:
        yield
    finally:
        with transaction() as db:
            db.execute(text(f"drop trigger meet on {table}; drop function meet(); drop sequence meetings"))


def count(table: str) -> int:
    with transaction() as db:
        return int(db.execute(text(f"select count(*) from {table}")).scalar_one())  # noqa: S608 (names of ours)


@pytest.mark.parametrize("code", ["40P01", "40001"])
def test_a_turn_that_met_another_is_stored_once(client: TestClient, code: str) -> None:
    with meeting("turn", times=2, code=code):
        answer = client.post("/v1/sessions/s1/turns", json=TURN)
    assert (answer.status_code, answer.json()["duplicate"]) == (202, False)
    assert (count("turn"), count("message")) == (1, 2)


def test_a_batch_and_a_reset_are_done_again_too(client: TestClient) -> None:
    with meeting("turn", times=1):
        lines = '{"session_id": "s1", "turn_id": "t1", "messages": [{"role": "user", "content": "Hi."}]}\n'
        assert "error" not in client.post("/v1/turns", content=lines).json()["results"][0]
    with meeting("session", times=1):
        assert client.post("/v1/sessions/s1/reset").json()["generation"] == 2


@pytest.mark.parametrize(
    ("code", "why"), [("40P01", "others held"), ("55P03", "others held"), ("57P01", "does not answer")]
)
def test_who_loses_each_time_is_told_what_was_in_the_way(client: TestClient, code: str, why: str) -> None:
    with meeting("turn", times=99, code=code):
        answer: Any = client.post("/v1/sessions/s1/turns", json=TURN)
    assert answer.status_code == 503
    assert why in answer.json()["detail"]
    assert "nothing was changed" in answer.json()["detail"]
    assert count("turn") == count("session") == 0
    assert client.post("/v1/sessions/s1/turns", json=TURN).status_code == 202


SKIPPING = """
create function skip_first() returns trigger language plpgsql as $$ begin
    return case when nextval('skipped') = 1 then null else new end;
end $$;
create sequence skipped;
create trigger skip_first before insert on {table} for each row execute function skip_first()
"""


@contextmanager
def losing_the_first(table: str) -> Iterator[None]:
    """Let the first row be taken for one that is there, and be gone when it is looked for."""
    with transaction() as db:
        db.execute(text(SKIPPING.format(table=table)))
    try:
        yield
    finally:
        with transaction() as db:
            db.execute(text(f"drop trigger skip_first on {table}"))
            db.execute(text("drop function skip_first(); drop sequence skipped"))


TOOLS = {"tools": [{"name": "crate.weigh", "description": "Weigh a crate."}]}
DOCUMENT = "The crane driver reports that the box is wet. " * 200
PLAN = {"intent": "weigh the crate", "catalog": "c", "model": "extractive", "session_id": "s1"}


def test_a_catalog_that_is_deleted_while_it_is_put_is_put(client: TestClient) -> None:
    with losing_the_first("catalog"):
        assert client.put("/v1/catalogs/c", json=TOOLS).status_code == 200
    assert client.get("/v1/catalogs/c").status_code == 200


@pytest.fixture
def artifact_id(client: TestClient) -> str:
    """A session, a catalog, and a document of that session."""
    assert client.post("/v1/sessions/s1/turns", json=TURN).status_code == 202
    assert client.put("/v1/catalogs/c", json=TOOLS).status_code == 200
    uploaded = client.post("/v1/attachments", json={"content": DOCUMENT, "session_id": "s1"})
    return str(uploaded.json()["attachment_id"])


@contextmanager
def erased_meanwhile(statement: str, **values: str) -> Iterator[None]:
    """Hold a deletion open until the block's call waits for it; it is committed then."""
    with ThreadPoolExecutor(1) as pool, transaction() as db:
        db.execute(text(statement), values)
        pid = db.execute(text("select pg_backend_pid()")).scalar_one()

        def commit() -> None:
            wait_until(lambda: _somebody_waits_for(pid), within_s=60, what="the call meets the erasure")
            db.commit()

        done = pool.submit(commit)
        yield
        done.result()


def _somebody_waits_for(pid: int) -> bool:
    waiting = "select count(*) from pg_stat_activity where :pid = any(pg_blocking_pids(pid))"
    with read_transaction() as db:
        return bool(db.execute(text(waiting), {"pid": pid}).scalar_one())


def test_a_plan_is_not_asked_for_in_a_session_that_is_erased_meanwhile(
    client: TestClient, artifact_id: str
) -> None:
    assert artifact_id
    with erased_meanwhile("delete from session where session_id = 's1'"):
        answer = client.post("/v1/plans", json=PLAN)
    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no such session")
    assert count("plan_history") == 0


def test_a_reading_is_not_asked_of_an_artifact_that_is_erased_meanwhile(
    client: TestClient, artifact_id: str
) -> None:
    erasure = "with gone as (delete from artifact_attachment) delete from artifact where artifact_id = :gone"
    with erased_meanwhile(erasure, gone=artifact_id):
        answer = client.put(f"/v1/artifacts/{artifact_id}/summaries", json={"focus": "what is wet"})
    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no such artifact")


def test_what_is_lost_each_time_is_no_fault_of_ours(client: TestClient, artifact_id: str) -> None:
    assert artifact_id
    with meeting("plan_history", times=99, code="23503"):
        answer = client.post("/v1/plans", json=PLAN)
    assert (answer.status_code, answer.json()["type"]) == (503, "unavailable")
