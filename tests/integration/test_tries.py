"""Two calls meet in the database and it ends one of them: that one is done again, and nobody hears of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from models.session import transaction
from tests.integration.summarizing import dialogue

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
