"""Input of clients that disagree, collide or break off: a stated answer, nothing lost, nothing doubled."""

import json
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api.settings import api_settings
from tests.integration.agents import listening
from tests.integration.conftest import make_key
from tests.integration.erasing import talk
from tests.integration.summarizing import SESSION, dialogue
from tests.integration.test_erase_messages import counts_are_right, rows
from tests.integration.test_sync_history import said, stored, sync

PATH = f"/v1/sessions/{SESSION}"
CROWD = 4


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        gate.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def other(number: int) -> list[dict[str, Any]]:
    """A turn of the plain conversation with another answer."""
    return [dialogue(number)[0], {"role": "assistant", "content": f"Another answer {number}."}]


def put(client: TestClient, messages: list[dict[str, Any]], **more: Any) -> Any:
    return client.put(f"{PATH}/messages", json={"messages": messages, **more})


def test_lists_that_disagree_at_once_leave_one_of_them_whole(client: TestClient) -> None:
    sync(client, said(1, 2))
    lists = [[*said(1), *other(2), *said(3 + place)] for place in range(CROWD)]
    answers = at_once([partial(put, client, one) for one in lists])
    assert {answer.status_code for answer in answers} == {200}
    assert stored(client) in lists
    assert counts_are_right()


def test_of_writers_that_name_a_revision_one_wins_and_the_others_are_told(client: TestClient) -> None:
    revision = sync(client, said(1))["revision"]
    lists = [[*said(1), *said(2 + place)] for place in range(CROWD)]
    answers = at_once([partial(put, client, one, revision=revision) for one in lists])
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * (CROWD - 1)]
    won = [one for one, answer in zip(lists, answers, strict=True) if answer.status_code == 200]
    present = {answer.json()["revision"] for answer in answers}
    assert len(present) == 1
    assert stored(client) == won[0]


def test_a_sync_and_the_same_turn_posted_at_once_store_the_words_once_by_the_next_sync(
    client: TestClient,
) -> None:
    sync(client, said(1))
    turn = {"turn_id": "t2", "messages": said(2)}
    at_once(
        [
            lambda: put(client, said(1, 2)),
            lambda: client.post(f"{PATH}/turns", json=turn),
            lambda: put(client, said(1, 2)),
        ]
    )
    sync(client, said(1, 2))
    assert stored(client) == said(1, 2)
    assert counts_are_right()


def test_an_edit_of_a_turn_and_a_list_at_once_leave_one_of_the_words(client: TestClient) -> None:
    sync(client, said(1, 2))
    new = {"role": "assistant", "content": "Edited."}
    answers = at_once(
        [
            lambda: client.patch(f"{PATH}/messages/2", json={"message": new}),
            lambda: put(client, [*other(1), *said(2)]),
        ]
    )
    assert answers[1].status_code == 200
    assert answers[0].status_code in (200, 404, 409)
    assert stored(client)[1] in (new, other(1)[1])
    assert len(stored(client)) == 4
    assert counts_are_right()


def test_a_fork_while_its_source_is_erased_is_whole_or_not_there(client: TestClient) -> None:
    talk(client, SESSION, 4)
    forked, erased = at_once(
        [
            lambda: client.post(f"{PATH}/fork", json={"session_id": "b"}),
            lambda: client.delete(PATH),
        ]
    )
    assert erased.status_code == 200
    assert forked.status_code in (200, 404), forked.text
    found = rows("select count(*) from message where session_id = 'b'")
    assert found == [(8 if forked.status_code == 200 else 0,)]
    assert rows("select count(*) from message where session_id = :s", s=SESSION) == [(0,)]


def test_a_fork_into_an_erased_session_begins_a_new_one(client: TestClient) -> None:
    talk(client, SESSION, 2)
    talk(client, "b", 1)
    assert client.delete("/v1/sessions/b").status_code == 200
    assert client.post(f"{PATH}/fork", json={"session_id": "b"}).status_code == 200
    turns = client.get("/v1/sessions/b/turns?from=1").json()["turns"]
    assert [turn["turn_id"] for turn in turns] == ["talk-1", "talk-2"]


def test_a_fork_that_was_erased_may_be_made_again(client: TestClient) -> None:
    talk(client, SESSION, 2)
    for _ in range(2):
        assert client.post(f"{PATH}/fork", json={"session_id": "b"}).json()["repeated"] is False
        assert client.delete("/v1/sessions/b").status_code == 200
    assert rows("select count(*) from session where session_id = 'b'") == [(0,)]


@pytest.mark.parametrize("ahead", [timedelta(hours=-30), timedelta(days=-20_000), timedelta(seconds=60)])
def test_a_clock_that_is_wrong_or_runs_backwards_keeps_the_order_of_arrival(
    client: TestClient, ahead: timedelta
) -> None:
    now = datetime.now(UTC)
    for number, at in enumerate((now, now + ahead, now - timedelta(hours=1)), 1):
        turn = {"turn_id": f"t{number}", "messages": dialogue(number), "completed_at": at.isoformat()}
        assert client.post(f"{PATH}/turns", json=turn).status_code == 202
    assert stored(client) == said(1, 2, 3)
    body = {
        "model": "gpt-4o",
        "context_window": 100_000,
        "messages": [{"role": "user", "content": "And now?"}],
    }
    window = client.post(f"{PATH}/context", json=body).json()
    assert window["messages"][:-1] == said(1, 2, 3)
    assert window["freshness"]["last_seq"] == 6


def test_a_second_delivery_with_another_time_is_told_apart(client: TestClient) -> None:
    now = datetime.now(UTC)
    turn = {"turn_id": "t1", "messages": dialogue(1), "completed_at": now.isoformat()}
    assert client.post(f"{PATH}/turns", json=turn).status_code == 202
    assert client.post(f"{PATH}/turns", json=turn).json()["duplicate"] is True
    later = {**turn, "completed_at": (now + timedelta(seconds=1)).isoformat()}
    refused = client.post(f"{PATH}/turns", json=later)
    assert (refused.status_code, refused.json()["type"]) == (409, "turn-conflict")
    assert len(stored(client)) == 2


def test_a_batch_that_breaks_off_in_a_line_keeps_the_whole_lines(client: TestClient) -> None:
    lines = [
        json.dumps({"session_id": SESSION, "turn_id": f"t{number}", "messages": dialogue(number)})
        for number in (1, 2, 3)
    ]
    broken = "\n".join(lines)[: -len(lines[2]) // 2]
    found = client.post("/v1/turns", content=broken.encode()).json()["results"]
    assert [line.get("duplicate") for line in found] == [False, False, None]
    assert found[2]["error"]["type"] == "invalid-json"
    again = client.post("/v1/turns", content="\n".join(lines).encode()).json()["results"]
    assert [line["duplicate"] for line in again] == [True, True, False]
    assert stored(client) == said(1, 2, 3)


def test_a_body_that_breaks_off_stores_nothing_and_the_turn_comes_again(tenant_id: UUID) -> None:
    with listening() as url:
        whole = raw_turn(url, make_key(tenant_id))
        with line_to(url) as line:
            line.sendall(whole[:-20])
        assert answered(url, whole) == b"202"
    assert rows("select count(*) from message") == [(2,)]


def test_an_answer_that_nobody_hears_is_stored_once(tenant_id: UUID) -> None:
    with listening() as url:
        whole = raw_turn(url, make_key(tenant_id))
        for _ in range(3):
            with line_to(url) as line:
                line.sendall(whole)
        assert answered(url, whole) in (b"200", b"202")
    assert rows("select count(*) from message") == [(2,)]


def raw_turn(url: str, key: str) -> bytes:
    """A turn as it goes over the line."""
    turn = json.dumps({"turn_id": "t1", "messages": dialogue(1)}).encode()
    head = (
        f"POST {PATH}/turns HTTP/1.1",
        f"Host: {urlsplit(url).netloc}",
        f"Authorization: Bearer {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(turn)}",
    )
    return "\r\n".join((*head, "", "")).encode() + turn


def line_to(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname or "", place.port or 0))


def answered(url: str, whole: bytes) -> bytes:
    """The status of the answer."""
    with line_to(url) as line:
        line.sendall(whole)
        return line.recv(64)[9:12]


def test_a_list_longer_than_a_call_takes_changes_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(client, said(1, 2))
    monkeypatch.setenv("AFTERTURN_MAX_HISTORY_MESSAGES", "4")
    api_settings.cache_clear()
    try:
        assert put(client, said(1, 2, 3)).status_code == 413
    finally:
        monkeypatch.undo()
        api_settings.cache_clear()
    assert stored(client) == said(1, 2)
