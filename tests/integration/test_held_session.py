"""A stranger holds one session's row: its writers wait in a few threads, and the others are served."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.settings import api_settings
from models.database import read_transaction, transaction
from tests.integration.test_tries import TURN
from tests.waiting import wait_until

WRITERS = 24
THREADS = 8

ASKED = {"model": "gpt-4o", "max_tokens": 200, "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture(autouse=True)
def _few_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    places = {"TENANT_CALLS": 8, "TENANT_WAIT_S": 0.5}
    writers = {"API_THREADS": THREADS, "SESSION_WRITERS": 2, "SESSION_PATIENCE_S": 0.5}
    for name, value in {**places, **writers}.items():
        monkeypatch.setenv(f"AFTERTURN_{name}", str(value))
    api_settings.cache_clear()
    yield
    api_settings.cache_clear()


def waiting() -> int:
    with read_transaction() as db:
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        return int(db.execute(text(waits)).scalar_one())


def test_writers_of_a_held_session_do_not_take_the_threads_of_others(client: TestClient) -> None:
    for name in ("held", "other"):
        assert client.post(f"/v1/sessions/{name}/turns", json=TURN).status_code == 202
    over = threading.Event()

    def write(number: int) -> int:
        if over.wait(0):
            return 0
        answer = client.post("/v1/sessions/held/turns", json={**TURN, "turn_id": f"w{number}"})
        assert answer.status_code == 202 or int(answer.headers["Retry-After"]) >= 1
        return answer.status_code

    with ThreadPoolExecutor(WRITERS) as pool, transaction() as db:
        db.execute(text("select 1 from session where session_id = 'held' for update"))
        asking = [pool.submit(write, number) for number in range(WRITERS)]
        # Lock waits end after five seconds: by then all but two were sent away, without one.
        wait_until(
            lambda: sum(one.done() for one in asking) >= WRITERS - 2, within_s=60, what="they are told"
        )
        assert {one.result() for one in asking if one.done()} == {503}
        more = [pool.submit(write, WRITERS + number) for number in range(WRITERS)]
        for _ in range(3):
            assert waiting() <= 2, "without the turnstile all threads wait"
            assert client.get("/readyz").status_code == 200
            assert client.post("/v1/sessions/other/context", json=ASKED).status_code == 200
            assert client.post("/v1/sessions/other/turns", json=TURN).status_code == 200
        over.set()
        db.rollback()
        assert {one.result() for one in more} <= {0, 202, 503}, "0: it never asked"
    assert client.post("/v1/sessions/held/turns", json={**TURN, "turn_id": "after"}).status_code == 202


def test_plans_of_a_held_session_and_erasures_of_its_user_take_few_threads(client: TestClient) -> None:
    catalog = {"tools": [{"name": "crate.weigh", "description": "Weigh a crate."}]}
    assert client.put("/v1/catalogs/main", json=catalog).status_code in {200, 201}
    assert client.post("/v1/sessions/held/turns", json={**TURN, "user_id": "ana"}).status_code == 202
    plan = {"intent": "weigh a crate", "catalog": "main", "model": "extractive", "session_id": "held"}

    def ask(number: int) -> int:
        if number % 2:
            return client.post("/v1/plans", json=plan).status_code
        return client.delete("/v1/users/ana").status_code

    with ThreadPoolExecutor(WRITERS) as pool, transaction() as db:
        db.execute(text("select 1 from session where session_id = 'held' for update"))
        asking = [pool.submit(ask, number) for number in range(WRITERS)]
        wait_until(
            lambda: sum(one.done() for one in asking) >= WRITERS - 4, within_s=60, what="they are told"
        )
        assert {one.result() for one in asking if one.done()} == {503}
        more = [pool.submit(ask, number) for number in range(WRITERS)]
        for _ in range(3):
            assert waiting() <= 4
            assert client.get("/readyz").status_code == 200
        db.rollback()
        assert {one.result() for one in more} <= {200, 202, 404, 503}


def _lines(number: int, *sessions: str) -> bytes:
    turns = [{**TURN, "session_id": name, "turn_id": f"{name}-{number}"} for name in sessions]
    return "\n".join(map(json.dumps, turns)).encode()


CHANGES: dict[str, Callable[[TestClient, int], httpx2.Response]] = {
    "batch": lambda client, number: client.post("/v1/turns", content=_lines(number, "held")),
    "batch of many": lambda client, number: client.post(
        "/v1/turns", content=_lines(number, f"free{number}", "held", "", "free")
    ),
    "turn": lambda client, number: client.post(
        "/v1/sessions/held/turns", json={**TURN, "turn_id": f"w{number}"}
    ),
    "edit": lambda client, number: client.patch(
        "/v1/sessions/held/messages/1", json={"message": {"role": "user", "content": f"word {number}"}}
    ),
    "erasure": lambda client, number: client.delete(f"/v1/sessions/held/messages/{1 + number % 2}"),
    "sync": lambda client, number: client.put(
        "/v1/sessions/held/messages", json={"messages": [{"role": "user", "content": f"word {number}"}]}
    ),
    "compress": lambda client, _: client.post("/v1/sessions/held/compress", json=ASKED),
    "fork": lambda client, number: client.post(
        "/v1/sessions/held/fork", json={"session_id": f"fork{number}"}
    ),
    "reset": lambda client, _: client.post("/v1/sessions/held/reset"),
    "user": lambda client, _: client.delete("/v1/users/ana"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_changes_that_wait_for_a_session_leave_places_to_reads_of_the_same_tenant(
    client: TestClient, kind: str
) -> None:
    for name in ("held", "other"):
        assert client.post(f"/v1/sessions/{name}/turns", json={**TURN, "user_id": "ana"}).status_code == 202
    with ThreadPoolExecutor(WRITERS) as pool, transaction() as db:
        db.execute(text("select 1 from session where session_id = 'held' for update"))
        asking = [pool.submit(CHANGES[kind], client, number) for number in range(WRITERS)]
        wait_until(lambda: waiting() >= 1, within_s=60, what="a change waits for the row")
        for _ in range(3):
            assert client.post("/v1/sessions/other/context", json=ASKED).status_code == 200
            assert client.get("/v1/sessions/held").status_code == 200
            assert waiting() <= 2, "few wait for the row"
        db.rollback()
        told = [one.result() for one in asking]
    assert not {answer.status_code for answer in told} - {200, 201, 202, 404, 409, 422, 503}
    assert all(answer.json()["held"] for answer in told if answer.status_code == 503)
