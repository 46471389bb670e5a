"""The switch of recall across the sessions of a user: stored sessions follow it behind the request."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from typer.testing import CliRunner

from afterturn.__main__ import app
from models import database as session
from models.due_work.queue import WorkKind, find_work
from models.recall.user import USER_RECALL, follow_switch
from models.scope import Scope
from models.tenants.tenant import ensure_tenant
from tests.integration.conftest import make_key
from tests.integration.recalling_users import (
    KAYAK,
    QUESTION,
    ask,
    index,
    region,
    say,
    settle,
    status,
    switch,
)
from workers.jobs.lifecycle import run_work
from workers.jobs.wake import wake_sessions
from workers.settings import WorkerSettings

PATH = "/v1/user-recall"
LONG = f"{KAYAK} " + "The weather is fine today. " * 200


@pytest.fixture
def stored(tenant_id: UUID, client: TestClient) -> UUID:
    """A short and a long session from before the switch."""
    say(client, "short")
    say(client, "long", LONG)
    say(client, "long", "And what else?")
    index(tenant_id, ["short", "long"])
    return tenant_id


def put(client: TestClient, *, enabled: Any = True) -> Any:
    answer = client.put(PATH, json={"enabled": enabled})
    assert answer.status_code == 200, answer.text
    return answer.json()


def settled(*, enabled: bool) -> dict[str, Any]:
    return {"enabled": enabled, "status": "settled", "sessions_waiting": 0}


def keyed(tenant_id: UUID) -> int:
    """Number of passages that other sessions of a user may find."""
    with session.read_transaction() as db:
        found = text("select count(*) from recall_passage where tenant_id = :id and user_keys is not null")
        return int(db.execute(found, {"id": tenant_id}).scalar_one())


def test_a_tenant_that_never_switched_is_off_and_settled(client: TestClient) -> None:
    assert client.get(PATH).json() == settled(enabled=False)


def test_stored_sessions_are_found_after_the_work_behind_the_switch_and_forgotten_again(
    stored: UUID, client: TestClient
) -> None:
    assert put(client) == {"enabled": True, "status": "working", "sessions_waiting": 0}
    assert (status(ask(client)), keyed(stored)) == ("nothing-found", 0)
    settle(stored)
    assert client.get(PATH).json() == settled(enabled=True)
    shown = region(ask(client))
    assert "[short \u00b7" in shown
    assert "[long \u00b7" in shown

    assert put(client, enabled=False)["status"] == "working"
    assert status(ask(client)) == "off"
    settle(stored)
    assert client.get(PATH).json() == settled(enabled=False)
    assert keyed(stored) == 0


def test_the_state_names_the_sessions_that_are_known_to_wait(stored: UUID, client: TestClient) -> None:
    put(client)
    with session.read_transaction() as db:
        walk = find_work(Scope(db, stored), WorkKind.WAKE, USER_RECALL)
    assert walk is not None
    run_work(walk.work_id, {WorkKind.WAKE: wake_sessions}, WorkerSettings())
    assert client.get(PATH).json() == {"enabled": True, "status": "working", "sessions_waiting": 2}


def test_work_that_was_given_up_is_said_and_tried_again_by_a_new_call(
    stored: UUID, client: TestClient
) -> None:
    put(client)
    with session.transaction() as db:
        db.execute(text("update due_work set state = 'dead' where tenant_id = :id"), {"id": stored})
    assert client.get(PATH).json()["status"] == "failed"
    assert put(client)["status"] == "working"
    settle(stored)
    assert client.get(PATH).json() == settled(enabled=True)
    assert KAYAK in region(ask(client))


def test_a_long_session_is_keyed_in_portions_and_a_change_of_mind_between_them_holds(
    stored: UUID, client: TestClient
) -> None:
    switch(stored)
    with session.transaction() as db:
        assert follow_switch(Scope(db, stored), "long", most=1) == 1
    assert keyed(stored) == 1
    put(client, enabled=False)
    settle(stored)
    assert keyed(stored) == 0


@pytest.mark.parametrize("path", ["/v1/sessions/short", "/v1/sessions/short/messages/1", "/v1/users/anna"])
def test_what_is_erased_before_or_amid_the_work_stays_gone(
    stored: UUID, client: TestClient, path: str
) -> None:
    client.delete("/v1/sessions/long")
    put(client)
    with session.transaction() as db:
        follow_switch(Scope(db, stored), "short", most=1)
    assert client.delete(path).status_code == 200
    settle(stored)
    assert client.get(PATH).json() == settled(enabled=True)
    answer = ask(client)
    assert KAYAK not in region(answer)
    assert status(answer) == "nothing-found"


def test_many_switches_turns_and_workers_at_once_end_as_the_last_switch_says(
    stored: UUID, client: TestClient
) -> None:
    def one(number: int) -> None:
        if number % 3 == 0:
            put(client, enabled=number % 2 == 0)
        elif number % 3 == 1:
            say(client, f"more-{number}", LONG)
        else:
            settle(stored)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(24)))
    for last in (True, False):
        put(client, enabled=last)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: settle(stored), range(2)))
        index(stored, ["short", "long", *(f"more-{number}" for number in range(24))])
        settle(stored)
        assert client.get(PATH).json() == settled(enabled=last)
        assert (keyed(stored) > 0) is last
    assert status(ask(client)) == "off"


def test_a_switch_is_one_tenants_alone(stored: UUID, client: TestClient) -> None:
    with session.transaction() as db:
        others = ensure_tenant(db, "others")
    mine = client.headers["Authorization"]
    client.headers["Authorization"] = f"Bearer {make_key(others)}"
    say(client, "theirs")
    put(client)
    settle(others)
    assert client.get(PATH).json() == settled(enabled=True)
    client.headers["Authorization"] = mine
    assert client.get(PATH).json() == settled(enabled=False)
    assert (status(ask(client)), keyed(stored)) == ("off", 0)


@pytest.mark.parametrize(
    "body", [{}, {"enabled": None}, {"enabled": "yes"}, {"enabled": 1}, {"on": True}, []]
)
def test_a_switch_that_makes_no_sense_is_refused_and_changes_nothing(client: TestClient, body: Any) -> None:
    assert client.put(PATH, json=body).status_code in {400, 422}
    assert client.get(PATH).json() == settled(enabled=False)


def test_the_command_does_the_same(stored: UUID, client: TestClient) -> None:
    def run(command: str) -> str:
        done = CliRunner().invoke(app, ["recall", command, "--tenant", "first"], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.output

    assert "is on; workers go through the stored sessions" in run("on")
    settle(stored)
    assert "is on; all stored sessions follow" in run("status")
    assert KAYAK in region(ask(client, question=QUESTION))
    assert "is off" in run("off")
    settle(stored)
    assert "is off; all stored sessions follow" in run("status")
    assert keyed(stored) == 0
