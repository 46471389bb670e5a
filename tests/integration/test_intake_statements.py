"""Statements of an intake: as many for a hundred turns as for one, and none of them sees the past."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import orjson
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event, text

from api.turns.intake import TurnCompleted, read_turn, store_turns
from models.database import read_transaction, transaction
from models.scope import Scope
from tests.waiting import wait_until

SESSIONS = 10
BATCH = 100
LONG = "The crate of the north gate was weighed again, and once more. " * 60


def talk(turn_id: str, said: str = "When does the depot open?") -> dict[str, Any]:
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": "At six."}]
    return {"turn_id": turn_id, "messages": messages}


def post(client: TestClient, turn: dict[str, Any], session_id: str = "s1") -> int:
    answer = client.post(f"/v1/sessions/{session_id}/turns", json=turn)
    assert answer.status_code in {200, 202, 409}, answer.text
    return answer.status_code


def post_batch(client: TestClient, first: int, said: str = "When?") -> list[dict[str, Any]]:
    lines = [
        {"session_id": f"s{number % SESSIONS}", **talk(f"t{number}", said)}
        for number in range(first, first + BATCH)
    ]
    answer = client.post("/v1/turns", content=b"\n".join(map(orjson.dumps, lines)))
    assert answer.status_code == 200
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@contextmanager
def statements(of: Engine) -> Iterator[list[str]]:
    """List the statements of the block: the first words and the table of each."""
    sent: list[str] = []

    def note(_db: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(" ".join(statement.split())[:60])

    event.listen(of, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(of, "before_cursor_execute", note)


class TestCount:
    """BEGIN and COMMIT aside."""

    def test_a_turn_of_a_short_session_takes_two(self, client: TestClient, empty_db: Engine) -> None:
        post(client, talk("t1"))
        with statements(empty_db) as sent:
            assert post(client, talk("t2")) == 202
        assert len(sent) == 2, sent

    def test_the_work_of_all_kinds_that_a_turn_makes_due_takes_one_more(
        self, client: TestClient, empty_db: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("models.following_work.is_due", lambda _: True)
        post(client, talk("t1", LONG))
        with statements(empty_db) as sent:
            assert post(client, talk("t2")) == 202
        assert len(sent) == 3, sent
        assert _due() == {("recall", "s1"), ("summarize", "s1")}

    def test_a_new_session_takes_three_more(self, client: TestClient, empty_db: Engine) -> None:
        post(client, talk("t1"))
        with statements(empty_db) as sent:
            assert post(client, talk("t1"), "s2") == 202
        assert len(sent) == 5, sent

    def test_a_second_delivery_takes_one(self, client: TestClient, empty_db: Engine) -> None:
        post(client, talk("t1"))
        with statements(empty_db) as sent:
            assert post(client, talk("t1")) == 200
        assert len(sent) == 1, sent

    def test_a_hundred_turns_of_ten_sessions_take_three(self, client: TestClient, empty_db: Engine) -> None:
        post_batch(client, 0, LONG)
        with statements(empty_db) as sent:
            results = post_batch(client, BATCH, LONG)
        assert len(sent) == 3, sent
        assert [one["duplicate"] for one in results] == [False] * BATCH
        assert {("recall", f"s{number}") for number in range(SESSIONS)} <= _due()


def _due() -> set[tuple[str, str]]:
    with read_transaction() as db:
        rows = db.execute(text("select kind, key from due_work where kind in ('recall', 'summarize')"))
        return {(row.kind, row.key) for row in rows}


class TestWait:
    """A statement that waits for the session goes on with the rows from before the wait."""

    @pytest.fixture(autouse=True)
    def _session(self, client: TestClient) -> None:
        post(client, talk("t1"))

    @contextmanager
    def stored_meanwhile(self, tenant_id: UUID, turn: dict[str, Any]) -> Iterator[None]:
        """Store a turn, and commit once the call of the block waits for the session."""
        with ThreadPoolExecutor(1) as pool, transaction() as db:
            store_turns(Scope(db, tenant_id), [read_turn("s1", TurnCompleted(**turn)).turn])
            pid = db.execute(text("select pg_backend_pid()")).scalar_one()

            def commit() -> None:
                wait_until(lambda: _waits_for(pid), within_s=60, what="the call waits for the session")
                db.commit()

            done = pool.submit(commit)
            yield
            done.result()

    def test_a_turn_that_is_stored_meanwhile_is_a_duplicate(
        self, client: TestClient, tenant_id: UUID
    ) -> None:
        with self.stored_meanwhile(tenant_id, talk("t2")):
            assert post(client, talk("t2")) == 200

    def test_another_body_that_is_stored_meanwhile_is_a_conflict(
        self, client: TestClient, tenant_id: UUID
    ) -> None:
        with self.stored_meanwhile(tenant_id, talk("t2")):
            assert post(client, talk("t2", "When does it close?")) == 409

    def test_a_batch_that_waits_stores_the_other_turns_behind(
        self, client: TestClient, tenant_id: UUID
    ) -> None:
        lines = [{"session_id": "s1", **talk(turn_id)} for turn_id in ("t1", "t2", "t3")]
        with self.stored_meanwhile(tenant_id, talk("t2")):
            answer = client.post("/v1/turns", content=b"\n".join(map(orjson.dumps, lines)))
        told = [(one["duplicate"], one["first_seq"]) for one in answer.json()["results"]]
        assert told == [(True, 1), (True, 3), (False, 5)]


def _waits_for(pid: int) -> bool:
    waiting = "select count(*) from pg_stat_activity where :pid = any(pg_blocking_pids(pid))"
    with read_transaction() as db:
        return bool(db.execute(text(waiting), {"pid": pid}).scalar_one())


def test_all_that_a_turn_says_is_stored_as_before(client: TestClient) -> None:
    turn = {
        "turn_id": "tä \" {1,2} 'x'",
        "messages": [
            {"role": "user", "content": "a {b,c} \\ \" ' \t\n 你好 🚚", "name": "Ana, {x}"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}}
                    for call in ('a,"b"', "{c}", "d\\e")
                ],
            },
        ],
        "usage": {"prompt_tokens": 2**70, "share": 0.1, "none": None},
        "plan": {"odd": [1, {"x": "{}"}]},
        "completed_at": "2026-01-02T03:04:05.678901+02:00",
        "context_window": 128_000,
        "user_id": "u,{1}",
    }
    assert post(client, turn) == 202
    with read_transaction() as db:
        row = db.execute(text("select *, completed_at::text as at from turn")).one()
        said = db.execute(text("select speaker, body::json ->> 'content' as content, call_ids from message"))
        told = {(one.speaker, one.content, tuple(one.call_ids or ())) for one in said}
    assert row.turn_id == turn["turn_id"]
    assert (row.usage, row.plan) == (turn["usage"], turn["plan"])
    assert (row.user_id, row.context_window) == ("u,{1}", 128_000)
    assert row.at == "2026-01-02 01:04:05.678901+00"
    assert told == {
        ("Ana, {x}", "a {b,c} \\ \" ' \t\n 你好 🚚", ()),
        (None, None, ('a,"b"', "{c}", "d\\e")),
    }
