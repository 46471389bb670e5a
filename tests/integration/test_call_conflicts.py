"""Changes of a conversation that collide, and the same change at once: one takes effect, each is answered."""

from functools import partial
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from api import keys
from models import database as session
from models.providers.context_limit import Sighting, SightingSource, learn_limit
from models.scope import Scope
from tests.integration.erasing import talk
from tests.integration.summarizing import SESSION, dialogue
from tests.integration.test_bad_input import at_once, other
from tests.integration.test_change_turns import append, ok, truncate
from tests.integration.test_erase_messages import counts_are_right, rows
from tests.integration.test_full_history import QUESTION
from tests.integration.test_sync_history import said, stored

PATH = f"/v1/sessions/{SESSION}"
CROWD = 4


def crowd(call: Any) -> list[Any]:
    """The answers to calls at once; each call knows its number."""
    return at_once([partial(call, number) for number in range(CROWD)])


def statuses(answers: list[Any]) -> list[int]:
    return sorted(answer.status_code for answer in answers)


def test_replacements_of_a_turn_at_once_leave_one_of_them_whole(client: TestClient) -> None:
    talk(client, SESSION, 3)
    lists = [[dialogue(3)[0], {"role": "assistant", "content": f"Answer {n}."}] for n in range(CROWD)]
    newest = crowd(lambda n: client.put(f"{PATH}/turns/talk-3", json={"messages": lists[n]}))
    earlier = crowd(lambda n: client.put(f"{PATH}/turns/talk-1", json={"messages": lists[n]}))
    assert statuses(newest) == statuses(earlier) == [200] * CROWD
    left = stored(client)
    assert (len(left), left[:2] in lists, left[2:4], left[4:] in lists) == (6, True, dialogue(2), True)
    assert counts_are_right()


def test_a_turn_is_deleted_once(client: TestClient) -> None:
    talk(client, SESSION, 2)
    answers = crowd(lambda _: client.delete(f"{PATH}/turns/talk-1"))
    assert statuses(answers) == [200, *[404] * (CROWD - 1)]
    assert stored(client) == said(2)
    assert counts_are_right()


def test_of_cuts_that_name_a_revision_one_is_made_and_the_same_again_is_none(client: TestClient) -> None:
    talk(client, SESSION, 4)
    ends = [f"talk-{number}" for number in range(1, CROWD + 1)]
    answers = crowd(
        lambda n: client.post(f"{PATH}/truncate", json={"after_turn": ends[n], "revision": "1.8"})
    )
    cut = [end for end, answer in zip(ends, answers, strict=True) if answer.json().get("removed")]
    assert len(cut) == 1
    assert {answer.status_code for answer in answers} <= {200, 404, 409}
    assert ok(client.get(PATH))["turns"] == int(cut[0][-1])
    again = truncate(client, cut[0], revision="1.8")
    assert (again["removed"], again["revision"]) == ({}, "2.8")
    assert counts_are_right()


def test_a_piece_that_comes_many_times_at_once_is_appended_once(client: TestClient) -> None:
    append(client, "a", 0, dialogue(1)[0])
    answers = crowd(lambda _: append(client, "a", 1, dialogue(1)[1]))
    assert sorted(answer["appended"] for answer in answers) == [0] * (CROWD - 1) + [1]
    assert stored(client) == dialogue(1)
    assert counts_are_right()


@pytest.mark.parametrize("index", [0, 1])
def test_of_other_pieces_for_one_place_one_is_appended_and_the_rest_are_told(
    client: TestClient, index: int
) -> None:
    if index:
        append(client, "a", 0, dialogue(1)[0])
    pieces = [{"role": "user", "content": f"Piece {number}."} for number in range(CROWD)]
    body = [{"messages": [piece], "index": index} for piece in pieces]
    answers = crowd(lambda n: client.post(f"{PATH}/turns/a/messages", json=body[n]))
    assert statuses(answers) == [200, *[409] * (CROWD - 1)]
    told = [answer.json() for answer in answers if answer.status_code == 409]
    assert {(one["type"], one["length"]) for one in told} == {("turn-conflict", index + 1)}
    assert stored(client)[index:][0] in pieces
    assert len(stored(client)) == index + 1


def test_a_piece_and_the_next_turn_at_once_are_both_stored_or_the_piece_is_told(client: TestClient) -> None:
    append(client, "a", 0, dialogue(1)[0])
    turn = {"turn_id": "b", "messages": dialogue(2)}
    piece = {"messages": [dialogue(1)[1]], "index": 1}
    appended, posted = at_once(
        [
            lambda: client.post(f"{PATH}/turns/a/messages", json=piece),
            lambda: client.post(f"{PATH}/turns", json=turn),
        ]
    )
    assert posted.status_code == 202
    if appended.status_code == 200:
        assert stored(client) == said(1, 2)
    else:
        assert ok(appended, 409)["type"] == "turn-closed"
        assert stored(client) == [dialogue(1)[0], *dialogue(2)]
    assert counts_are_right()


def test_a_line_whose_whole_history_differs_is_a_conflict_of_its_own(client: TestClient) -> None:
    talk(client, SESSION, 2)
    lines = [
        {"model": "gpt-4o", "session_id": SESSION, "history": "full", "messages": [*messages, QUESTION]}
        for messages in (said(1, 2), [*said(1), *other(2)], said(1, 2))
    ]
    body = "\n".join(client.build_request("POST", "/", json=line).content.decode() for line in lines)
    found = ok(client.post("/v1/contexts", content=body))["results"]
    assert [line["status"] for line in found] == [200, 409, 200]
    assert found[1]["error"]["type"] == "history-conflict"


def test_limits_that_are_forgotten_at_once_are_counted_once(client: TestClient, tenant_id: UUID) -> None:
    talk(client, SESSION, 1)
    with session.transaction() as db:
        for model in ("m-1", "m-2"):
            seen = Sighting(model, SESSION, 8_192, SightingSource.ERROR)
            learn_limit(Scope(db, tenant_id), seen, floor_tokens=8_192)
    answers = crowd(lambda _: ok(client.delete(f"/v1/limits?session_id={SESSION}")))
    assert sum(answer["forgotten"] for answer in answers) == 2


def test_keys_made_at_once_stay_within_the_most(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST_KEYS", 3)
    answers = crowd(lambda n: client.post("/v1/keys", json={"label": f"key {n}"}))
    assert statuses(answers) == [201, 201, 413, 413]
    assert rows("select count(*) from api_key") == [(3,)]


def test_a_key_revoked_many_times_at_once_is_revoked_at_one_time(client: TestClient) -> None:
    key_id = client.post("/v1/keys", json={"label": "x"}).json()["key_id"]
    answers = crowd(lambda _: ok(client.delete(f"/v1/keys/{key_id}")))
    assert len({answer["revoked_at"] for answer in answers}) == 1


def test_a_listed_page_goes_on_while_its_sessions_are_erased(client: TestClient) -> None:
    for name in ("s1", "s2", "s3", "s4"):
        talk(client, name, 1)
    page = ok(client.get("/v1/sessions", params={"limit": 2}))
    for name in ("s2", "s3"):
        assert client.delete(f"/v1/sessions/{name}").status_code == 200
    rest = ok(client.get("/v1/sessions", params={"limit": 2, "cursor": page["next"]}))
    assert [one["session_id"] for one in rest["sessions"]] == ["s4"]
